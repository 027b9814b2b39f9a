package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hatchel/adapters/guard"
)

const (
	runTimeout = 5 * time.Second
	maxOutput  = 64 << 10 // bytes

	// killDelay is how long the end of a command may take.
	killDelay = time.Second

	notStarted = 126 // the exit code of shells, and of guard, for a program that cannot be executed
)

var (
	errTooLong = errors.New("prints more than 64 KiB")
	errStopped = errors.New("was stopped, because the server stops")
)

// run returns the standard output of a command without its last line break. There is no shell, no standard input and
// no environment but PATH and HOME; standard error is dropped, because it may quote the secret. The command and what it
// has started are killed when it takes longer than runTimeout, when stopping ends, and when it has ended.
func run(stopping context.Context, dir string, command []string) ([]byte, error) {
	if err := guard.Supported(); err != nil {
		return nil, fmt.Errorf("is not run: %w", err)
	}
	ctx, cancel := context.WithTimeout(stopping, runTimeout)
	defer cancel()
	name := command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	out := &limitedOutput{full: cancel}
	cmd := exec.CommandContext(ctx, name, command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.WaitDelay = dir, out, killDelay
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	_, err := os.Stat(cmd.Path)
	if err == nil {
		err = guard.Wrap(cmd)
	}
	if err == nil {
		err = cmd.Run()
	}
	var exit *exec.ExitError
	switch {
	case out.tooLong:
		return nil, errTooLong
	case stopping.Err() != nil:
		return nil, errStopped
	case ctx.Err() != nil:
		return nil, fmt.Errorf("does not end within %s", runTimeout)
	case errors.As(err, &exit) && exit.ExitCode() != notStarted:
		return nil, fmt.Errorf("fails with %s", exit.ProcessState)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("is not found")
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, errors.New("cannot be started")
	}
	text := bytes.TrimSuffix(out.text.Bytes(), []byte("\n"))
	return bytes.TrimSuffix(text, []byte("\r")), nil
}

// limitedOutput keeps up to maxOutput bytes, and ends the command that writes more.
type limitedOutput struct {
	text    bytes.Buffer
	full    func()
	tooLong bool
}

func (o *limitedOutput) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > maxOutput {
		o.tooLong = true
		o.full()
		return 0, errTooLong
	}
	return o.text.Write(p)
}
