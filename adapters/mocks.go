package adapters

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"hatchel/hcl/mock"
)

// Mocks answers in place of services, databases and programs when tools are tested. It replaces the transport only:
// what a backend does before a request and after its answer is real. With Mocks that are not live, no connection is
// opened, no program is started and no file outside of the configuration directory is written. Its methods may be
// called concurrently.
type Mocks interface {
	// Live reports whether the system is asked where no mock answers: for what reads, or with writes for anything.
	Live(writes bool) bool
	// Ask keeps a question, and returns the reply to it when its delay is over. It returns none for a question that
	// the backend is to ask its system. The error of a question that has no answer is a *Fault, which ends the call;
	// it is that of ctx if ctx ends first.
	Ask(ctx context.Context, q *mock.Question) (*mock.Reply, error)
	// Of returns the mocks of the backend of a connection.
	Of(kind, connection string) []*mock.Mock
	// Use makes a mock a system itself, with the answers to queries when the call is over.
	Use(standIn *mock.Mock, query func(ctx context.Context, args map[string]any) ([]map[string]any, error))
	// Timeout is that of the tool, for what a mock itself runs.
	Timeout() time.Duration
	// Set sets a member of a question, as conditions read it.
	Set(q *mock.Question, member string, v any)
	// Fail reports that a mock cannot answer, and returns the error of the question.
	Fail(of *mock.Mock, detail string) error

	// IsRecording reports whether the answers of systems are recorded. If they are not, Record and FailRecording do
	// nothing.
	IsRecording() bool
	// Record keeps a question, and the answer of the system as a tape has it.
	Record(q *mock.Question, reply map[string]any)
	// FailRecording keeps the first reason why a recording is not complete. The secrets are not shown.
	FailRecording(secrets []string, format string, args ...any)

	// ReadFile returns a regular file of the configuration directory of at most so many bytes.
	ReadFile(name string, limit int64) ([]byte, error)
	// CopyDirectory returns the private copy of an absolute directory of the configuration.
	CopyDirectory(path string) (string, error)
}

// copyOf returns a function that returns the private copy of a directory of the configuration, which is made when it
// is first needed. It returns nil without mocks.
func (e Env) copyOf(path string) func() (string, error) {
	if e.Mocks == nil {
		return nil
	}
	return sync.OnceValues(func() (string, error) {
		if rel, err := filepath.Rel(e.Dir, path); err != nil || !filepath.IsLocal(rel) {
			return "", &Fault{Message: fmt.Sprintf("the directory %s is not in the configuration directory, so a test "+
				"cannot use it; make the directory a variable, and set it in the test", path)}
		}
		return e.Mocks.CopyDirectory(path)
	})
}
