//go:build !unix

package audit

// syncDir does nothing: directories cannot be synced on this system.
func syncDir(string) error { return nil }
