package adapters

import "os"

// MayRead reports whether there is a file. Windows says only at an attempt whether it may be read.
func MayRead(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// MayWrite reports whether there is a file. Windows says only at an attempt whether it may be written.
func MayWrite(path string) bool { return MayRead(path) }
