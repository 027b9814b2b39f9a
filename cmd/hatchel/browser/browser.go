// Package browser opens addresses in the browser of the person at the terminal.
package browser

import (
	"context"
	"os/exec"
	"runtime"
	"time"
)

// openTimeout bounds the program that opens an address. It ends when the browser has it.
const openTimeout = 5 * time.Second

// Open asks the system to open an address. It reports whether a program has accepted it.
func Open(ctx context.Context, address string) bool {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	return exec.CommandContext(ctx, program, address).Run() == nil
}
