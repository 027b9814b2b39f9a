package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hatchel/adapters"
	"hatchel/hcl"
)

// saidRunes is how much of what a failed program wrote the model is shown.
const saidRunes = 500

// name is how a program is called in a sentence.
func (d *draft) name(stage int) string {
	if d.script {
		return "the script"
	}
	name := path.Base(d.stages[stage][0])
	if len(d.stages) > 1 {
		return fmt.Sprintf("%s (command %d of %d)", name, stage+1, len(d.stages))
	}
	return name
}

// failed is the Fault of a program that ended as it should not.
func (d *draft) failed(stage int, e exit, j *job) error {
	f := &adapters.Fault{Code: e.code}
	switch {
	case e.err != nil:
		f.Message, f.Cause, f.Code = d.name(stage)+" ended, and the system cannot say how", e.err, 0
	case e.signal == syscall.SIGKILL:
		f.Message = d.name(stage) + " was killed by the system or an operator (SIGKILL); it may have needed too much memory"
	case e.code == 128+int(syscall.SIGXFSZ) && d.confined != nil:
		f.Message = fmt.Sprintf("%s was stopped: a file would have become larger than the %v that one may be", d.name(stage), hcl.Size(d.confined.fileSize))
	case e.signal != 0:
		f.Message = fmt.Sprintf("%s was ended by the signal %s (%v)", d.name(stage), unix.SignalName(e.signal), e.signal)
	default:
		f.Message = fmt.Sprintf("%s failed with exit code %d", d.name(stage), e.code)
	}
	if said := d.said(j); said != "" {
		f.Message += ": " + said
		if f.Cause == nil {
			f.Cause = d.confined.hint(said)
		}
	}
	return f
}

// said is the end of what the programs complained, or else of what they wrote.
func (d *draft) said(j *job) string {
	if j.err != nil {
		if said := d.end(j.err); said != "" {
			return said
		}
	}
	return d.end(j.out)
}

// end is the last that a stream brought, without secrets. They go first: afterwards a part of one could stand where the text is cut.
func (d *draft) end(s *stream) string {
	return adapters.Tail(adapters.Said(s.kept.text(d.secrets), d.secrets), saidRunes)
}

// overdue is the Fault of programs that took too long.
func (d *draft) overdue(limit time.Duration, j *job) error {
	f := &adapters.Fault{Message: fmt.Sprintf("%s did not finish within %v and was stopped", d.name(len(d.stages)-1), limit), Cause: errTimeout}
	if len(d.stages) > 1 {
		f.Message = fmt.Sprintf("the commands did not finish within %v and were stopped", limit)
	}
	if said := d.said(j); said != "" {
		f.Message += "; the end of what was written: " + said
	}
	return f
}

// tooMuch is the Fault of programs that used more than they may.
func (d *draft) tooMuch(e *excess, j *job) error {
	f := &adapters.Fault{Message: fmt.Sprintf("%s was stopped: %s", d.name(len(d.stages)-1), e.text), Cause: e}
	if len(d.stages) > 1 {
		f.Message = "the commands were stopped: " + e.text
	}
	if said := d.said(j); said != "" {
		f.Message += "; the end of what was written: " + said
	}
	return f
}

// unreadable is the Fault of output that is not what the author said it is.
func (d *draft) unreadable(err error, j *job) error {
	f := &adapters.Fault{Message: d.name(len(d.stages)-1) + " " + err.Error()}
	var wrong *notJSONError
	if text := string(j.out.kept.buf); errors.As(err, &wrong) && wrong.shown != "" && adapters.Scrub(text, d.secrets) == text {
		f.Message += fmt.Sprintf(", at %q", wrong.shown)
	}
	if j.err != nil {
		if said := d.end(j.err); said != "" {
			f.Message += "; it also said: " + said
		}
	}
	return f
}

// notStarted is the Fault of programs that did not come to run.
func (d *draft) notStarted(err error) error {
	f := &adapters.Fault{Cause: err}
	var at *startError
	var confining *confineError
	if errors.As(err, &confining) {
		f.Message = "the program could not be confined, and does not run without; the server's log says why"
		return f
	}
	if !errors.As(err, &at) {
		f.Message = busy(err)
		return f
	}
	name := d.stages[at.stage][0]
	info, statErr := os.Stat(d.dir)
	switch {
	case statErr != nil && errors.Is(statErr, fs.ErrNotExist):
		f.Message = fmt.Sprintf("the working folder %s does not exist", d.folder)
	case statErr == nil && !info.IsDir():
		f.Message = fmt.Sprintf("the working folder %s is not a folder", d.folder)
	case errors.Is(err, errNotFound), errors.Is(err, fs.ErrNotExist):
		f.Message = fmt.Sprintf("the program %s is not there, or the interpreter that it names is not; it must be installed where the tools run", name)
	case errors.Is(err, errNotExecutable), errors.Is(err, fs.ErrPermission):
		f.Message = fmt.Sprintf("the program %s may not be run, or the working folder not be entered: permission denied", name)
		f.Cause = errors.Join(err, d.confined.hint(f.Message))
	case errors.Is(err, syscall.ENOEXEC):
		f.Message = fmt.Sprintf("the file %s is not a program of this system; a script needs a first line that names its interpreter", name)
	case errors.Is(err, syscall.E2BIG):
		f.Message = "the words and the environment of the command are too long together; send less"
	default:
		f.Message = busy(err)
	}
	return f
}

func busy(err error) string {
	for _, lack := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, lack) {
			return "the server cannot start another program now; try again later"
		}
	}
	return "the program could not be started"
}
