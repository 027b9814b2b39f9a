//go:build !(linux && cgo)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Sandbox is never made.
type Sandbox struct{ Policy }

// LandlockABI returns 0: there is no Landlock.
func LandlockABI() ABI { return 0 }

// New returns an UnsupportedError.
func New(Policy, ABI) (*Sandbox, error) {
	return nil, &UnsupportedError{fmt.Sprintf("Programs are confined by Landlock, which this build for %s does not "+
		"support. Run the server on Linux, built with cgo, or write sandbox { mode = \"none\" } to give the "+
		"programs all rights of the server.", runtime.GOOS)}
}

// ContainsConfig is not reached, because there is no Sandbox.
func (*Sandbox) ContainsConfig(string) bool { return false }

// Workspace is never made.
type Workspace struct{}

// Allows is not reached.
func (*Sandbox) Allows(string) (read, write bool) { return true, true }

// DeniedSockets is not reached.
func (*Workspace) DeniedSockets() (internet, local bool) { return false, false }

// Acquire is not reached, because there is no Sandbox.
func (*Sandbox) Acquire(string) (*Workspace, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Sandbox) Close() error { return nil }

// TempDir is not reached.
func (*Workspace) TempDir() string { return "" }

// GrantRead is not reached.
func (*Workspace) GrantRead(string) error { return errors.ErrUnsupported }

// GrantResolved is not reached.
func (*Workspace) GrantResolved([]string) error { return errors.ErrUnsupported }

// Start is not reached.
func (*Workspace) Start(string, []string, *os.ProcAttr) (*os.Process, error) {
	return nil, errors.ErrUnsupported
}

// EnforceLimits is not reached.
func (*Workspace) EnforceLimits(func(*LimitError)) {}

// WaitExits is not reached.
func (*Workspace) WaitExits() {}

// KillRemaining is not reached.
func (*Workspace) KillRemaining() {}

// Release is not reached.
func (*Workspace) Release() {}
