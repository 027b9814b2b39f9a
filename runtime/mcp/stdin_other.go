//go:build !unix

package mcp

import "os"

// Stdin returns the standard input.
func Stdin() (in *os.File, restore func()) { return os.Stdin, func() {} }
