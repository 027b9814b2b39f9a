package sql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// action runs one sql block.
type action struct {
	*block
	db       database
	followed sync.Map // *followed by definedFor
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	return &action{block: b, db: env.Connection.(database)}, nil
}

// Do implements adapters.Action. It runs the statements of the block in one transaction.
func (a *action) Do(ctx context.Context, call *adapters.Call) (any, error) {
	as, err := a.traceIdentity(call)
	if err != nil {
		return nil, err
	}
	found, err := a.follow(ctx, as)
	if err != nil {
		return nil, a.toFault(ctx, as, err)
	}
	var out map[string]any
	switch {
	case a.Query != nil:
		out, err = a.runQuery(ctx, as, call, found)
	case a.Exec != nil:
		out, err = a.runExec(ctx, as, call, found)
	default:
		out, err = a.runCallerStatement(ctx, as, call)
	}
	if err != nil {
		return nil, a.markChange(err, a.toFault(ctx, as, err))
	}
	return out, nil
}

// markChange adds to the failure of a call what its transaction, which has ended with an error, has changed.
func (a *action) markChange(err, failed error) error {
	var refused *refusedOutput
	isRefused := errors.As(err, &refused)
	switch {
	case a.Exec == nil, adapters.ChangeOf(failed) == adapters.ChangeUnsent:
		return failed
	case errors.Is(err, errCommitLost), errors.Is(err, errNotUndone):
		return adapters.WithChange(failed, adapters.ChangeUnknown)
	case a.commitsImplicitly() && isRefused:
		return adapters.WithChange(failed, adapters.ChangeDone)
	case a.commitsImplicitly():
		return adapters.WithChange(failed, adapters.ChangeUnknown)
	case isRefused && refused.byAuthor:
		return failed // in the author's words
	}
	if f, ok := failed.(*adapters.Fault); ok {
		undone := *f
		undone.Change = adapters.ChangeUndone
		return &undone
	}
	return adapters.WithChange(failed, adapters.ChangeUndone)
}

// refusedOutput is the error of statements that have run, and whose output is refused before the commit.
type refusedOutput struct {
	error
	byAuthor bool // of the expect blocks
}

func (e *refusedOutput) Unwrap() error { return e.error }

// commitsImplicitly reports whether a statement may commit what it does before the transaction ends.
func (a *action) commitsImplicitly() bool {
	if a.dialect != sqltext.MySQL {
		return false
	}
	for _, s := range a.Exec.Statements() {
		for _, kind := range s.Kinds() {
			if !transactionalVerbs[kind.Verb] {
				return true
			}
		}
	}
	return false
}

func (a *action) runQuery(
	ctx context.Context, as identity, call *adapters.Call, found *followed,
) (map[string]any, error) {
	s := a.Query.Statements()[0]
	e := &execution{isQuery: true, last: a.Each == nil, origin: origin{call, a.dialect}, followed: found}
	if a.Each == nil {
		if err := e.bind(s, call.Frame); err != nil {
			return nil, err
		}
		return a.runReadOnly(ctx, as, call, e)
	}
	err := a.db.read(ctx, as, func(tx transaction) error {
		e.result = &resultSet{maxRows: a.maxRows()}
		return a.forEachElement(ctx, call.Frame, func(f *hcl.Frame) error { return bindAndRun(ctx, tx, s, f, e) })
	})
	if err != nil {
		return nil, err
	}
	return e.result.output(), a.checkCut(call, e.result)
}

// checkCut reports to the call that a result was cut.
func (a *action) checkCut(call *adapters.Call, result *resultSet) error {
	if !result.truncated {
		return nil
	}
	cut := adapters.Cut{Members: []string{"rows"}, Limit: fmt.Sprintf("max_rows = %d", result.maxRows),
		Argument: "max_rows", Seen: "there are more rows", Allowed: a.Truncate}
	if result.rows < result.maxRows {
		cut.Limit, cut.Argument = fmt.Sprintf("%s of rows", hcl.Size(maxResultSize)), ""
	}
	return call.Truncate(cut)
}

// runReadOnly runs one bound statement in a read-only transaction of its own.
func (a *action) runReadOnly(
	ctx context.Context, as identity, call *adapters.Call, e *execution,
) (map[string]any, error) {
	err := a.db.read(ctx, as, func(tx transaction) error {
		e.result = &resultSet{maxRows: a.maxRows()}
		return e.run(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	return e.result.output(), a.checkCut(call, e.result)
}

func bindAndRun(ctx context.Context, tx transaction, s *sqltext.Program, f *hcl.Frame, e *execution) error {
	if err := e.bind(s, f); err != nil {
		return err
	}
	return e.run(ctx, tx)
}

// runExec runs the statements of exec and commits them if the expect blocks accept the output.
func (a *action) runExec(
	ctx context.Context, as identity, call *adapters.Call, found *followed,
) (map[string]any, error) {
	var out map[string]any
	err := a.db.write(ctx, as, func(tx transaction) error {
		executions := make([]execution, len(a.Exec.Statements()))
		for i := range executions {
			executions[i] = execution{result: &resultSet{maxRows: a.maxRows()}, origin: origin{call, a.dialect},
				followed: found}
		}
		err := a.forEachElement(ctx, call.Frame, func(f *hcl.Frame) error {
			return a.runStatements(ctx, tx, f, executions)
		})
		for i := 0; i < len(executions) && err == nil; i++ {
			if cut := a.checkCut(call, executions[i].result); cut != nil {
				err = &refusedOutput{cut, false}
			}
		}
		if err != nil {
			return err
		}
		out = a.execOutput(executions)
		if err := call.CheckOutput(out); err != nil {
			return &refusedOutput{err, true}
		}
		return nil
	})
	return out, err
}

// runStatements runs the statements of exec for one element. Executions hold the results of all elements.
func (a *action) runStatements(ctx context.Context, tx transaction, f *hcl.Frame, executions []execution) error {
	var results []any // of this element
	if a.Exec.ReadsResults {
		f = f.Fork(ctx)
	}
	for i, s := range a.Exec.Statements() {
		e := &executions[i]
		rows, affected := e.result.rows, e.affected
		if a.Exec.ReadsResults {
			f.Output = map[string]any{"results": results}
		}
		if err := bindAndRun(ctx, tx, s, f, e); err != nil {
			return err
		}
		if a.Exec.ReadsResults {
			row := e.result.rowAt(rows)
			if row == nil && e.result.truncated {
				const text = "a later statement needs a row that is beyond max_rows = %d"
				return modelError{fmt.Errorf(text, e.result.maxRows)}
			}
			result := map[string]any{"row": row, "affected": e.affected}
			if e.lastID != nil {
				result["last_id"] = e.lastID
			}
			results = append(results, result)
		}
		e.affected += affected
	}
	return nil
}

func (a *action) execOutput(executions []execution) map[string]any {
	if !a.Exec.Listed {
		e := executions[0]
		out := map[string]any{"affected": e.affected, "last_id": e.lastID}
		if a.Exec.Statements()[0].ReturnsRows() {
			maps.Copy(out, e.result.output())
		}
		return out
	}
	list := make([]any, len(executions))
	for i, e := range executions {
		out := e.result.output()
		out["affected"], out["last_id"] = e.affected, e.lastID
		list[i] = out
	}
	return map[string]any{"results": list}
}

// forEachElement calls do with a frame for each element of the argument each, or once with f if the
// block has no such argument.
func (a *action) forEachElement(ctx context.Context, f *hcl.Frame, do func(*hcl.Frame) error) error {
	if a.Each == nil {
		return do(f)
	}
	v, err := a.Each.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return modelError{err}
	}
	element := f.Fork(ctx)
	doElement := func(key, v any) error {
		element.Each = &hcl.Each{Key: key, Value: v}
		return do(element)
	}
	switch v := v.(type) {
	case nil:
	case []any:
		for i, elem := range v {
			if err := doElement(i, elem); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range value.Keys(v) {
			if err := doElement(key, v[key]); err != nil {
				return err
			}
		}
	default:
		return modelError{fmt.Errorf("each must be a list or an object, not %s", value.Kind(v))}
	}
	return nil
}

// modelError is an error whose text is written for the model.
type modelError struct{ error }

func (e modelError) Unwrap() error { return e.error }

// toFault returns the error of a call in the form that adapters.Action promises.
func (a *action) toFault(ctx context.Context, as identity, err error) error {
	var worded modelError
	var fault *adapters.Fault
	var down *unreachableError
	var refused *definitionError
	name := hcl.InstanceName(a.connection, as.instance)
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.As(err, new(*identityError)):
		const text = "the database refuses the role or the session that the connection %q has for this caller; this " +
			"is not a mistake in the arguments, and trying again does not help"
		reason := quoteEngine(authorMessage(err, a.dialect))
		return &adapters.Fault{Message: fmt.Sprintf(text, name), Hint: reason, Cause: err}
	case errors.As(err, &refused):
		const text = "the answer would hold what a mask hides; this is a mistake in the tool's definition, not in " +
			"the arguments"
		return &adapters.Fault{Message: text, Hint: strings.TrimSuffix(refused.Error(), "."), NotSent: !refused.hasRun,
			Cause: err}
	case errors.Is(err, errStale):
		return &adapters.Fault{Message: errStale.Error(), Advice: "try again", Cause: err}
	case errors.As(err, &worded):
		return &adapters.Fault{Message: worded.Error(), Cause: worded.error}
	case errors.Is(err, errBusy) && ctx.Err() == context.DeadlineExceeded:
		const text = "%q was busy with other statements for as long as this call could wait"
		message := fmt.Sprintf(text, name)
		return &adapters.Fault{Message: message, Cause: ctx.Err(), NotSent: true}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &down):
		f := &adapters.Fault{
			Message: fmt.Sprintf("the database %q is unavailable", name), Advice: "try again later",
			Cause: down.cause, Unavailable: down.lost(), NotSent: true,
		}
		if failed, ok := errors.AsType[*signInError](down.cause); ok {
			f.Message = fmt.Sprintf("the database %q is unavailable: %s", name, failed.text)
		}
		if wrong := mistakeOf(down.cause); wrong != "" {
			const more = "this is not a mistake in the arguments, and trying again does not help"
			text := fmt.Sprintf("the connection %q is misconfigured: %s", name, wrong)
			f.Message, f.Advice = adapters.JoinFailure(text, more, ""), ""
		}
		return f
	}
	return toFault(err, a.dialect, a.Statement != nil)
}
