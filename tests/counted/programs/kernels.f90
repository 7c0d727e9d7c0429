! A module procedure and an external one. Prints function, precision, FLOP.
module solver
    implicit none
contains
    subroutine step(a, b, n)
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n)
        real(8), intent(in) :: b(n)
        integer :: i
        do i = 1, n
            a(i) = a(i) + 2.5d0*b(i)
        end do
    end subroutine step
end module solver

subroutine squares(x, n)
    implicit none
    integer, intent(in) :: n
    real(4), intent(inout) :: x(n)
    x = x*x
end subroutine squares

program main
    use solver
    implicit none
    real(8) :: a(1003), b(1003)
    real(4) :: x(512)
    character, parameter :: tab = achar(9)
    a = 1
    b = 2
    x = 3
    call step(a, b, 1003)
    call squares(x, 512)
    if (a(1) < 0 .or. x(1) < 0) stop 1
    print '(5A)', 'solver::step', tab, 'fp64', tab, '2006'
    print '(5A)', 'squares_', tab, 'fp32', tab, '512'
end program main
