package program

import (
	"errors"
	"os"
	"syscall"

	"hatchel/adapters/guard"
	"hatchel/adapters/sandbox"
)

// Program is a started program, which leads a session and a process group.
type Program interface {
	Pid() int
	WaitExit()                         // waits until it has exited
	Wait() (syscall.WaitStatus, error) // waits, and releases the ID
}

// confined is a program of a sandbox.
type confined struct{ *os.Process }

func (p confined) Pid() int { return p.Process.Pid }

func (p confined) WaitExit() { guard.WaitExit(p.Process.Pid) }

func (p confined) Wait() (status syscall.WaitStatus, err error) {
	state, err := p.Process.Wait()
	if err != nil {
		return status, err
	}
	return state.Sys().(syscall.WaitStatus), nil
}

// Start looks the program up that argv begins with, in the PATH of attr, and starts it in a workspace; nil: with all
// rights of the server. If it is not where it was found earlier, it is looked up anew.
func (l *Lookup) Start(workspace *sandbox.Workspace, argv []string, attr *os.ProcAttr) (Program, error) {
	start := func(file string) (Program, error) {
		if workspace == nil {
			return guard.Start(file, argv, attr)
		}
		p, err := workspace.Start(file, argv, attr)
		return confined{p}, err
	}
	path := Environment(attr.Env).Get("PATH")
	for retried := false; ; retried = true {
		file, err := l.find(argv[0], path)
		if err != nil {
			return nil, err
		}
		p, err := start(file)
		if err == nil || retried || !errors.Is(err, os.ErrNotExist) {
			return p, err
		}
		if _, moved := l.cache.LoadAndDelete(argv[0]); !moved {
			return nil, err
		}
	}
}
