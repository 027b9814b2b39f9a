package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// ShowSpinner shows on a terminal that an operation takes longer than a second. The returned
// function removes it.
func ShowSpinner(w io.Writer, operation string) (stop func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	stopping := make(chan struct{})
	var spinning sync.WaitGroup
	spinning.Go(func() {
		start, pause := time.Now(), time.Second
		for n := 0; ; n++ {
			select {
			case <-stopping:
				if n > 0 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-time.After(pause):
				fmt.Fprintf(w, "\r%c %s (%ds)", `|/-\`[n%4], operation, int(time.Since(start).Seconds()))
				pause = 120 * time.Millisecond
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stopping)
		spinning.Wait()
	})
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
