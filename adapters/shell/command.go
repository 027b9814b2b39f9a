package shell

import (
	"errors"
	"os"
	"sync"

	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/internal/charset"
)

// command is what one call runs, in plain values.
type command struct {
	stages      [][]string // the arguments of each program; the first one is its name
	dir         string     // absolute
	env         program.Environment
	stdin       []byte // nil: empty
	mergeStderr bool
	maxOutput   int // of one stream, in bytes
	encoding    *charset.Encoding

	sandbox  *sandbox.Sandbox // nil: the programs have all rights of the server
	uploads  string           // a directory of this call that the programs may read; empty for none
	resolved []string         // what under has resolved, which the programs may read
	tempVars []string         // the names of variables that hold the temporary directory of the call
}

// devNull is what a program without input reads. One descriptor serves all programs and stays open.
var devNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// stageError reports that a program could not be started.
type stageError struct {
	stage int
	err   error
}

func (e *stageError) Error() string { return e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// start starts all programs, or none. The caller waits for the job. The error is a *stageError if it is about one of
// the programs.
func (c *command) start(programs *program.Lookup) (*job, error) {
	j := &job{}
	if err := c.prepare(j); err != nil {
		j.close()
		return nil, err
	}
	input, err := c.openInput(j)
	for i := 0; i < len(c.stages) && err == nil; i++ {
		input, err = c.startStage(j, programs, i, input)
	}
	j.stdout.closeWriter()
	j.stderr.closeWriter()
	if err != nil {
		j.abort()
		j.close()
		return nil, err
	}
	if j.stdin != nil {
		j.writing.Go(func() {
			_, _ = j.stdin.Write(c.stdin) // a program need not read all of it
			j.stdin.Close()
		})
	}
	return j, nil
}

// prepare makes the output streams and the workspace of the job.
func (c *command) prepare(j *job) (err error) {
	if j.stdout, err = newStream(c.maxOutput, c.encoding); err == nil && !c.mergeStderr {
		j.stderr, err = newStream(c.maxOutput, c.encoding)
	}
	if err != nil || c.sandbox == nil {
		return err
	}
	if j.workspace, err = c.sandbox.Acquire(c.env.Get("PATH")); err != nil {
		return &sandbox.StartError{Err: err}
	}
	if c.uploads != "" {
		err = j.workspace.GrantRead(c.uploads)
	}
	if err = errors.Join(err, j.workspace.GrantResolved(c.resolved)); err != nil {
		return &sandbox.StartError{Err: err}
	}
	c.env = append(make(program.Environment, 0, len(c.env)+len(c.tempVars)), c.env...)
	for _, name := range c.tempVars {
		c.env = c.env.Set(name, j.workspace.TempDir())
	}
	return nil
}

// openInput returns what the first program reads.
func (c *command) openInput(j *job) (r *os.File, err error) {
	if c.stdin == nil {
		return devNull()
	}
	r, j.stdin, err = os.Pipe()
	return r, err
}

// startStage starts one program that reads input, which it closes, and returns what the next program reads.
func (c *command) startStage(j *job, programs *program.Lookup, i int, input *os.File) (next *os.File, err error) {
	if shared, _ := devNull(); input != shared {
		defer input.Close()
	}
	stdout := j.stdout.writer
	if i < len(c.stages)-1 {
		if next, stdout, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer stdout.Close()
	}
	stderr := j.stdout.writer
	if j.stderr != nil {
		stderr = j.stderr.writer
	}
	attr := &os.ProcAttr{Dir: c.dir, Env: c.env, Files: []*os.File{input, stdout, stderr}}
	p, err := programs.Start(j.workspace, c.stages[i], attr)
	if err != nil {
		if next != nil {
			next.Close()
		}
		return nil, &stageError{i, err}
	}
	j.programs = append(j.programs, p)
	return next, nil
}
