package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/adapters/guard"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
	"hatchel/internal/cut"
)

// maxShownRunes is how much of the output of a failed program the model gets.
const maxShownRunes = 500

// minShownRunes is how much of what is before its last line is shown at least; less is left out.
const minShownRunes = 20

// stageName returns how a program is called in a sentence.
func (p *commandPlan) stageName(stage int) string {
	if p.isScript {
		return "the script"
	}
	name := path.Base(p.stages[stage][0])
	if len(p.stages) > 1 {
		return fmt.Sprintf("%s (command %d of %d)", name, stage+1, len(p.stages))
	}
	return name
}

// subject returns how all programs are called at the beginning of a sentence.
func (p *commandPlan) subject() (programs, were string) {
	if len(p.stages) > 1 {
		return "the commands", "were"
	}
	return p.stageName(0), "was"
}

// exitFault returns the fault of a program with an exit code that does not mean success.
func (p *commandPlan) exitFault(stage int, e exitStatus, j *job) error {
	f := &adapters.Fault{Code: e.code}
	name := p.stageName(stage)
	switch {
	case e.err != nil:
		f.Message, f.Cause, f.Code = name+" ended, and the system does not report how", e.err, 0
	case e.signal == syscall.SIGKILL:
		f.Message = name + " was killed by the system or an operator (SIGKILL); it may have used too much memory"
	case e.code == 128+int(guard.SIGXFSZ) && p.sandbox != nil:
		f.Message = fmt.Sprintf("%s was stopped: a file exceeded the limit of %v", name, hcl.Size(p.sandbox.FileSize))
	case e.signal != 0:
		f.Message = fmt.Sprintf("%s was ended by the signal %s (%v)", name, guard.SignalName(e.signal), e.signal)
	default:
		f.Message = fmt.Sprintf("%s failed with exit code %d", name, e.code)
	}
	if output := p.lastOutput(j); output != "" {
		f.Message += ": " + output
	}
	if hint := p.newHinter(p.rawOutput(j), j).find(e.code); hint != nil && e.err == nil && e.signal == 0 {
		f.Cause, f.Hint = hint, adapters.Scrub(hint.Error(), p.secrets)
	}
	return f
}

// rawOutput returns the error output, or else the output.
func (p *commandPlan) rawOutput(j *job) string {
	if j.stderr != nil {
		if text, _ := j.stderr.captured.text(p.secrets); strings.TrimSpace(text) != "" {
			return text
		}
	}
	text, _ := j.stdout.captured.text(p.secrets)
	return text
}

// lastOutput returns the end of the error output, or else of the output.
func (p *commandPlan) lastOutput(j *job) string {
	if j.stderr != nil {
		if text := p.tail(j.stderr); text != "" {
			return text
		}
	}
	return p.tail(j.stdout)
}

// tail returns a stream without secrets. Of a long one it is the last line that is not empty, which says most, then the
// end of what is before it. Secrets are removed first: afterwards, a part of one could be left at the beginning.
func (p *commandPlan) tail(s *stream) string {
	raw, _ := s.captured.text(p.secrets)
	text := adapters.Scrub(raw, p.secrets)
	whole := adapters.Sanitize(text, p.secrets)
	if utf8.RuneCountInString(whole) <= maxShownRunes {
		return whole
	}
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	end := strings.LastIndexByte(text, '\n')
	last := cut.Runes(adapters.Sanitize(text[end+1:], p.secrets), maxShownRunes)
	before := adapters.Sanitize(text[:max(end, 0)], p.secrets)
	room := maxShownRunes - utf8.RuneCountInString(last)
	if before == "" || room < minShownRunes {
		return last
	}
	return last + "; before that: " + adapters.LastRunes(before, room)
}

// timeoutFault returns the fault of programs that took too long.
func (p *commandPlan) timeoutFault(timeout time.Duration, j *job) error {
	programs, were := p.subject()
	message := fmt.Sprintf("%s did not finish within %v and %s stopped", programs, timeout, were)
	return p.stopFault(message, errTimeout, j)
}

// limitFault returns the fault of programs that together exceeded a limit.
func (p *commandPlan) limitFault(e *sandbox.LimitError, j *job) error {
	limit := fmt.Sprintf("%d %s at the same time", e.Limit, e.Resource)
	switch e.Resource {
	case sandbox.CPU:
		limit = fmt.Sprintf("%v of CPU time", time.Duration(e.Limit))
	case sandbox.Memory:
		limit = fmt.Sprintf("%v of memory", hcl.Size(e.Limit))
	}
	programs, were := p.subject()
	return p.stopFault(fmt.Sprintf("%s %s stopped: more than the limit of %s", programs, were, limit), e, j)
}

// stopFault returns the fault of programs that the server has stopped.
func (p *commandPlan) stopFault(message string, cause error, j *job) error {
	if output := p.lastOutput(j); output != "" {
		message += "; the output ends with: " + output
	}
	return &adapters.Fault{Message: message, Cause: cause, Change: adapters.ChangeUnknown}
}

// outputFault returns the fault for output that cannot be read.
func (p *commandPlan) outputFault(err error, j *job) error {
	f := &adapters.Fault{Message: p.stageName(len(p.stages)-1) + " " + err.Error()}
	var notJSON *notJSONError
	text, _ := j.stdout.captured.text(p.secrets)
	if errors.As(err, &notJSON) && notJSON.excerpt != "" && adapters.Scrub(text, p.secrets) == text {
		f.Message += fmt.Sprintf(", at %q", notJSON.excerpt)
	}
	if j.stderr != nil && !errors.As(err, new(*encodingError)) {
		if text := p.tail(j.stderr); text != "" {
			f.Message += "; its error output ends with: " + text
		}
	}
	return f
}

// startFault returns the fault of programs that were not started.
func (p *commandPlan) startFault(err error) error {
	f := &adapters.Fault{Cause: err, Change: adapters.ChangeUnsent}
	var atStage *stageError
	var startErr *sandbox.StartError
	if errors.As(err, &atStage) && atStage.stage > 0 { // those before it have run
		f.Change = adapters.ChangeUnknown
	}
	if errors.As(err, &startErr) {
		f.Message = "the program could not be confined and was not started; the server's log has the reason"
		return f
	}
	if atStage == nil {
		f.Message, f.Advice = shortageMessage(err)
		return f
	}
	name := p.stages[atStage.stage][0]
	info, statErr := os.Stat(p.dir)
	switch {
	case statErr != nil && errors.Is(statErr, fs.ErrNotExist):
		f.Message = fmt.Sprintf("the working directory %s does not exist", p.shownDir)
	case statErr == nil && !info.IsDir():
		f.Message = fmt.Sprintf("the working directory %s is not a directory", p.shownDir)
	case errors.Is(err, program.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		f.Message = fmt.Sprintf("the program %s, or its interpreter, was not found; it must be installed where "+
			"the tools run", name)
		f.Hint = fmt.Sprintf("the PATH of the tool is %s: install %s there, or declare env = { PATH = \"…\" } in its "+
			"connection", p.env.Get("PATH"), name)
	case errors.Is(err, program.ErrNotExecutable), errors.Is(err, fs.ErrPermission):
		f.Message = fmt.Sprintf("the program %s or the working directory is not accessible: permission denied", name)
		if hint := p.newHinter(f.Message, nil).find(0); hint != nil {
			f.Cause, f.Hint = errors.Join(err, hint), hint.Error()
		}
	case errors.Is(err, syscall.ENOEXEC):
		f.Message = fmt.Sprintf("the file %s is not a program of this system; a script needs a first line that "+
			"names its interpreter", name)
	case errors.Is(err, syscall.E2BIG):
		f.Message = "the arguments and the environment of the command are too long; send less"
	default:
		f.Message, f.Advice = shortageMessage(err)
	}
	return f
}

// shortageMessage returns the message of programs that were not started, which may be for a shortage, and what to do.
func shortageMessage(err error) (message, advice string) {
	for _, shortage := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, shortage) {
			return "the server cannot start another program now", "try again later"
		}
	}
	return "the program could not be started", ""
}
