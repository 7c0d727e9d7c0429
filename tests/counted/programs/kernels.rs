// A method and a generic function. Prints function, precision, FLOP.
mod kern {
    pub struct Field(pub Vec<f64>);

    impl Field {
        #[inline(never)]
        pub fn axpy(&mut self, a: f64, other: &Field) {
            for (x, y) in self.0.iter_mut().zip(other.0.iter()) {
                *x += a * *y;
            }
        }
    }
}

fn main() {
    let mut v = kern::Field(vec![1.0; 1001]);
    let other = kern::Field(vec![2.0; 1001]);
    v.axpy(std::hint::black_box(3.0), &other);
    std::hint::black_box(&v.0);
    println!("<kernels::kern::Field>::axpy\tfp64\t{}", 2 * 1001);
}
