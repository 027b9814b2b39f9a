//go:build !unix

package audit

import "io"

// acquire refuses: whether another process writes cannot be told here.
func acquire(string) (io.Closer, error) {
	return nil, refused("this system has no locks with which only one process would write")
}

func syncFolder(string) error { return nil }
