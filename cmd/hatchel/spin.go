package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// spin shows on a terminal that something takes longer than a second. The function it returns ends that and clears the line.
func spin(w io.Writer, what string) (done func()) {
	if !isTerminal(w) {
		return func() {}
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		began, wait := time.Now(), time.NewTimer(time.Second)
		defer wait.Stop()
		for n := 0; ; n++ {
			select {
			case <-stop:
				if n > 0 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-wait.C:
				fmt.Fprintf(w, "\r%c %s (%ds)", `|/-\`[n%4], what, int(time.Since(began).Seconds()))
				wait.Reset(120 * time.Millisecond)
			}
		}
	})
	return func() {
		close(stop)
		running.Wait()
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
