package main

import (
	"context"
	"os/exec"
	"runtime"
	"time"
)

// browserTimeout bounds the program that opens an address. It ends when the browser has it.
const browserTimeout = 5 * time.Second

// openBrowser asks the system to open an address. It reports whether a program has accepted it.
func openBrowser(ctx context.Context, address string) bool {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	defer cancel()
	return exec.CommandContext(ctx, program, address).Run() == nil
}
