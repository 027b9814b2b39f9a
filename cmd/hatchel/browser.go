package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// browserTimeout bounds the wait for the program that opens an address. Some end when the browser has it, and others
// are the browser, and go on.
const browserTimeout = 5 * time.Second

// openBrowser opens an address in the browser that the environment variable BROWSER names, or in that of the desktop.
// It reports whether a program has accepted it.
func openBrowser(ctx context.Context, address string) bool {
	words := browserCommand(address)
	if words == nil {
		return false
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = newProcessGroup() // so that Ctrl-C leaves it alone
	if cmd.Start() != nil {
		return false
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	late := time.NewTimer(browserTimeout)
	defer late.Stop()
	select {
	case err := <-ended:
		return err == nil
	case <-late.C:
	case <-ctx.Done():
	}
	return true
}

// browserCommand returns the command that opens an address, or nil if there is no browser here.
func browserCommand(address string) []string {
	named, _, _ := strings.Cut(os.Getenv("BROWSER"), string(os.PathListSeparator))
	words := strings.Fields(named)
	switch {
	case len(words) > 0:
		at := len(words)
		for i, word := range words {
			if strings.Contains(word, "%s") {
				words[i], at = strings.ReplaceAll(word, "%s", address), i
			}
		}
		if at == len(words) {
			words = append(words, address)
		}
		return words
	case runtime.GOOS == "darwin":
		return []string{"open", address}
	case runtime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return nil // where xdg-open would show the page in the terminal
	}
	return []string{"xdg-open", address}
}
