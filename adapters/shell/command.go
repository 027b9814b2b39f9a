package shell

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// A command is what one call runs, in plain values.
type command struct {
	stages [][]string // the words of every program, the first of them its name
	dir    string     // absolute
	env    environ
	stdin  []byte // nil: there is nothing to read
	merge  bool   // stderr goes where stdout goes
	limit  int    // of what is kept of one output

	confined *confinement // nil: the programs may do all that the server may
	copies   string       // a folder that the programs may read, of this call alone; empty for none
	ownTemp  bool         // the author says where temporary files go
}

// nothing is what a program without input reads. One descriptor serves all programs and stays open.
var nothing = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// A startError says which program could not be started.
type startError struct {
	stage int
	err   error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// start starts all programs, or none: an error is a *startError when it is about one of them. The job must be waited for.
func (c *command) start(f *finder) (*job, error) {
	j := &job{confined: c.confined, began: time.Now()}
	if err := c.open(j); err != nil {
		j.close()
		return nil, err
	}
	input, err := c.input(j)
	for i := 0; i < len(c.stages) && err == nil; i++ {
		input, err = c.stage(j, f, i, input)
	}
	j.out.handOver()
	j.err.handOver()
	if err != nil {
		j.kill()
		j.close()
		return nil, err
	}
	if j.stdin != nil {
		j.feed(c.stdin)
	}
	return j, nil
}

func (c *command) open(j *job) (err error) {
	if j.out, err = newStream(c.limit); err == nil && !c.merge {
		j.err, err = newStream(c.limit)
	}
	if err != nil || c.confined == nil {
		return err
	}
	if j.cell, err = c.confined.take(c.env.get("PATH")); err != nil {
		return &confineError{err}
	}
	if c.copies != "" {
		if err = j.cell.lend(c.copies); err != nil {
			return &confineError{err}
		}
	}
	if !c.ownTemp {
		c.env = append(make(environ, 0, len(c.env)+1), c.env...).set("TMPDIR", j.cell.room)
	}
	return nil
}

// input is what the first program reads.
func (c *command) input(j *job) (r *os.File, err error) {
	if c.stdin == nil {
		return nothing()
	}
	r, j.stdin, err = os.Pipe()
	return r, err
}

// stage starts one program that reads input, which it closes, and returns what the next one reads.
func (c *command) stage(j *job, f *finder, i int, input *os.File) (next *os.File, err error) {
	if shared, _ := nothing(); input != shared {
		defer input.Close()
	}
	output := j.out.write
	if i < len(c.stages)-1 {
		if next, output, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer output.Close()
	}
	problems := j.out.write
	if j.err != nil {
		problems = j.err.write
	}
	p, err := c.exec(j, f, c.stages[i], []*os.File{input, output, problems})
	if err != nil {
		if next != nil {
			next.Close()
		}
		return nil, &startError{i, err}
	}
	j.programs = append(j.programs, p)
	return next, nil
}

func (c *command) exec(j *job, f *finder, words []string, files []*os.File) (*os.Process, error) {
	attr := &os.ProcAttr{Dir: c.dir, Env: c.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	path := c.env.get("PATH")
	for again := false; ; again = true {
		file, err := f.find(words[0], path)
		if err != nil {
			return nil, err
		}
		p, err := c.run(j, file, words, attr)
		if err == nil || again || !errors.Is(err, os.ErrNotExist) || !f.forget(words[0]) {
			return p, err
		}
	}
}

func (c *command) run(j *job, file string, words []string, attr *os.ProcAttr) (*os.Process, error) {
	if c.confined == nil {
		return os.StartProcess(file, words, attr)
	}
	return c.confined.spawn(file, words, attr, j.cell)
}
