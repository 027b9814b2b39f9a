package lsp

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// guarded makes a panic in one of the goroutines of parallel a panic of its caller, which recovers: by itself it would
// end the process.
func guarded(parallel func(n int, do func(i int))) func(n int, do func(i int)) {
	if parallel == nil {
		return nil
	}
	return func(n int, do func(i int)) {
		var failed atomic.Pointer[string]
		parallel(n, func(i int) {
			defer func() {
				if r := recover(); r != nil {
					text := fmt.Sprintf("%v\n%s", r, debug.Stack())
					failed.CompareAndSwap(nil, &text)
				}
			}()
			if failed.Load() == nil {
				do(i)
			}
		})
		if text := failed.Load(); text != nil {
			panic(*text)
		}
	}
}
