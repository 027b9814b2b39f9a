package adaptertest

import (
	"context"
	"net/http"

	"hatchel/adapters"
)

// Mocks implements adapters.Mocks with functions. A request whose function is nil panics. It records how the
// transactions have ended.
type Mocks struct {
	Request   func(*adapters.HTTPRequest) (*http.Response, error)
	Init      *string // the statements of a database in memory; nil for none
	InitError error   // of running them
	Statement func(*adapters.Statement) (*adapters.SQLResult, error)
	Program   func(context.Context, *adapters.Program) (*adapters.Exit, error)
	Directory func(path string) (string, error)
	Ended     []bool // whether each transaction was committed
}

// Live implements adapters.Mocks.
func (m *Mocks) Live() bool { return false }

// RoundTrip implements adapters.Mocks.
func (m *Mocks) RoundTrip(r *adapters.HTTPRequest) (*http.Response, error) { return m.Request(r) }

// Seed implements adapters.Mocks.
func (m *Mocks) Seed(_ adapters.Database, open func() (adapters.Memory, error)) bool {
	if m.Init != nil {
		var memory adapters.Memory
		if memory, m.InitError = open(); m.InitError == nil {
			m.InitError = memory.Execute(*m.Init)
		}
	}
	return m.Init != nil
}

// Begin implements adapters.Mocks.
func (m *Mocks) Begin(adapters.Database, bool) adapters.Transaction { return (*mockedTransaction)(m) }

// Run implements adapters.Mocks.
func (m *Mocks) Run(ctx context.Context, p *adapters.Program) (*adapters.Exit, error) {
	return m.Program(ctx, p)
}

// CopyDirectory implements adapters.Mocks.
func (m *Mocks) CopyDirectory(path string) (string, error) { return m.Directory(path) }

type mockedTransaction Mocks

func (m *mockedTransaction) Execute(_ context.Context, s *adapters.Statement) (*adapters.SQLResult, error) {
	return m.Statement(s)
}

func (m *mockedTransaction) Live() bool { return false }

func (m *mockedTransaction) Executed(*adapters.Statement, *adapters.SQLResult, error) {}

// Unreachable implements adapters.Transaction.
func (m *mockedTransaction) Unreachable(error) {}

func (m *mockedTransaction) End(committed bool) { m.Ended = append(m.Ended, committed) }
