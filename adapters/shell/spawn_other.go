//go:build !(linux && cgo)

package shell

import (
	"errors"
	"os"
	"runtime"

	"hatchel/hcl"
)

type filter struct{}

func landlock() version { return 0 }

// prepare says that this system has nothing to confine programs with.
func (c *confinement) prepare(version) error {
	return hcl.Blame(c, "Programs are confined by Landlock, which this build for %s does not have. Run the server on Linux, built with cgo, or write sandbox { mode = %q } to let the programs do all that the server may.", runtime.GOOS, unconfined)
}

// spawn is not reached: prepare lets no confinement come to be.
func (c *confinement) spawn(string, []string, *os.ProcAttr, *cell) (*os.Process, error) {
	return nil, errors.ErrUnsupported
}

func (c *confinement) rules(string, grounds) (*os.File, error) { return nil, errors.ErrUnsupported }

type grounds struct{}

func (c *confinement) grounds(string) (grounds, error) { return grounds{}, errors.ErrUnsupported }

func (grounds) close() {}

func rootOf(room string) (*os.Root, error) { return os.OpenRoot(room) }

type supervisor struct{}

func (k *cell) unsupervise() bool { return true }

func (k *cell) awaitExits(programs []*os.Process) {
	for _, p := range programs {
		waitExit(p.Pid)
	}
}

func (k *cell) supervised() {}

func (k *cell) lend(string) error { return errors.ErrUnsupported }
