// Goroutines on several threads, with the signals by which the run-time preempts them, its garbage
// collector, panics and timers.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

type node struct {
	next *node
	data [16]int
}

func churn(n int) (sum int) {
	var list *node
	for i := 0; i < n; i++ {
		list = &node{next: list}
		list.data[i%16] = i
		if i%1000 == 999 {
			list = nil
		}
	}
	for ; list != nil; list = list.next {
		sum += list.data[3]
	}
	return sum
}

func guarded(i int) (caught string) {
	defer func() { caught = fmt.Sprint(recover()) }()
	var a []int
	return fmt.Sprint(a[i])
}

func main() {
	var wait sync.WaitGroup
	results := make(chan int, 16)
	for g := 0; g < 200; g++ {
		wait.Add(1)
		go func(g int) { defer wait.Done(); results <- churn(2000+g) % 1000 }(g)
	}
	go func() { wait.Wait(); close(results) }()
	total := 0
	for r := range results {
		total += r
	}
	spin := make(chan bool)
	go func() { // a loop without calls can only be preempted by a signal
		x := 0
		for i := 0; i < 200000000; i++ {
			x += i & 3
		}
		spin <- x > 0
	}()
	<-time.After(10 * time.Millisecond)
	words := strings.Fields(strings.Repeat("the quick brown fox ", 500))
	sort.Strings(words)
	fmt.Println(total, <-spin, words[0], guarded(5))
}
