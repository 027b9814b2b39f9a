package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/source"
	"hatchel/runtime/state"
)

// storeDesk decides in the store itself, beside the servers that have it open.
type storeDesk struct {
	store state.Store
	book  *approval.Book
	audit *hcl.Audit // where decisions are written down; nil when the folder does not say
	dir   string

	end     context.CancelFunc
	hearing sync.WaitGroup
}

// openStore opens what a server of the folder remembers. The mistakes of a folder matter only where they leave open where that is, and then a file that is named says it: who decides has to do
// with the state, and not with what the tools need, such as the secrets of the server.
func (r *reviewing) openStore(ctx context.Context, stderr io.Writer) (reviewed, error) {
	folder, err := source.NewFolder(r.dir)
	if err != nil {
		return nil, failf("%s cannot be found: %s", r.dir, reason(err))
	}
	options, err := r.options(folder.Dir(), stderr)
	if err != nil {
		return nil, err
	}
	files, err := folder.Snapshot()
	if err != nil {
		return nil, failf("%s cannot be read: %s", r.dir, reason(err))
	}
	set := all.Set()
	cfg, diags := hcl.Load(files, set.Kinds(), options)
	if diags.HasErrors() && r.state == "" && !saysWhere(cfg) {
		return nil, failf("%s has %s, so it does not say where approvals are kept: hatchel validate %s says which. Name the file with --state", r.dir, counted(diags), r.dir)
	}
	if err := begunBefore(r.state, folder.Dir(), cfg.State); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, r.state, folder.Dir(), cfg.State)
	if err != nil {
		return nil, failf("%s", err)
	}
	d := &storeDesk{store: store, book: approval.NewBook(store), dir: folder.Dir()}
	if a := cfg.Audit; a != nil && (a.Stdout || a.File != "" || a.Postgres != "") {
		d.audit = a
	}
	ctx, d.end = context.WithCancel(ctx)
	d.hearing.Go(func() { store.Watch(ctx, d.book.Changed) })
	return d, nil
}

// saysWhere reports whether a configuration with mistakes says where a server keeps what it remembers.
func saysWhere(cfg *hcl.Config) bool {
	if cfg.State == nil {
		return !cfg.Partial
	}
	return cfg.State.SQLite != "" || cfg.State.Postgres != ""
}

// begunBefore is why a file is not opened that no server has made: it would only be made here.
func begunBefore(file, dir string, kept *hcl.State) error {
	if kept != nil && kept.Postgres != "" {
		return nil
	}
	path, err := stateFile(file, dir, kept)
	if err != nil {
		return failf("%s", err)
	}
	if _, err := os.Stat(path); err != nil {
		return failf("%s cannot be read: %s. A server keeps approvals there when somebody has asked for one; one that runs elsewhere is asked with --server URL", path, reason(err))
	}
	return nil
}

func (d *storeDesk) close() {
	d.end()
	d.hearing.Wait()
	d.store.Close()
}

func (d *storeDesk) list(ctx context.Context, q approval.ListQuery) ([]*listed, string, error) {
	entries, next, err := d.book.List(ctx, q)
	if err != nil {
		return nil, "", err
	}
	list := make([]*listed, len(entries))
	for i, e := range entries {
		if list[i], err = readListed(e.AppendJSON(nil)); err != nil {
			return nil, "", err
		}
	}
	return list, next, nil
}

func readListed(text []byte) (*listed, error) {
	a := &listed{text: text}
	if err := json.Unmarshal(text, a); err != nil || a.ID == "" {
		return nil, errors.New("what was read is no approval")
	}
	return a, nil
}

func (d *storeDesk) find(ctx context.Context, id string) (*listed, error) {
	a, err := d.known(ctx, id)
	if err != nil {
		return nil, err
	}
	return listedOf(a)
}

func (d *storeDesk) known(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.book.Find(ctx, id)
	if err == nil && a == nil {
		err = approval.ErrUnknown
	}
	return a, err
}

func listedOf(a *approval.Approval) (*listed, error) {
	text, err := a.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	return readListed(text)
}

func (d *storeDesk) decide(ctx context.Context, id string, approved bool, why string) (*listed, error) {
	a, err := d.known(ctx, id)
	if err != nil {
		return nil, err
	}
	decision := approval.Decision{By: "os:" + userName(), At: time.Now().UTC().Truncate(time.Microsecond), Reason: why}
	if d.audit == nil && !a.Audited {
		a, err = d.book.Decide(ctx, a.ID, approved, decision)
	} else {
		a, err = d.written(ctx, a.ID, approval.Proposal{Approved: approved, Decision: decision})
	}
	if err != nil {
		return nil, err
	}
	return listedOf(a)
}

// userName is who runs this process, as the system knows them; not what the environment says.
func userName() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// written makes a decision that must be written down before it holds: here, when no server writes the log, or else by the server.
func (d *storeDesk) written(ctx context.Context, id string, p approval.Proposal) (*approval.Approval, error) {
	clerk, cannot := d.clerk(ctx)
	if cannot != nil {
		made, err := d.book.Propose(ctx, id, p, "")
		if err != nil {
			return nil, err
		}
		return d.byServer(ctx, made, cannot)
	}
	defer clerk.Close()
	made, err := d.book.Propose(ctx, id, p, "hatchel approvals "+strconv.Itoa(os.Getpid()))
	if err != nil {
		return nil, err
	}
	if err := clerk.Write(made, audit.Caller{Subject: p.Decision.By}); err != nil {
		d.book.Withdraw(context.WithoutCancel(ctx), made) // otherwise it is forgotten soon
		return nil, failf("nothing was decided: decisions are written down before they hold, and the audit log cannot be written: %s", err)
	}
	return d.book.Confirm(context.WithoutCancel(ctx), made)
}

// clerk opens the audit log of the folder. The error is a sentence that says why a server has to write.
func (d *storeDesk) clerk(ctx context.Context) (*runtime.Clerk, error) {
	if d.audit == nil {
		return nil, fmt.Errorf("the server that was asked has one, and the folder %s declares none, or has mistakes there", d.dir)
	}
	return new(runtime.AuditLogs).Clerk(ctx, d.audit, d.dir)
}

// How long a server has to begin to write a decision down, and then to make it hold.
const (
	untilBegun = 10 * time.Second
	untilDone  = 15 * time.Second
)

// byServer waits until a server has written a decision down. One that no server has begun to is withdrawn.
func (d *storeDesk) byServer(ctx context.Context, p *approval.Proposal, cannot error) (*approval.Approval, error) {
	a, err := d.await(ctx, p, untilBegun)
	if a != nil || err != nil && ctx.Err() == nil {
		return a, err
	}
	last := context.WithoutCancel(ctx)
	if gone, err := d.book.Withdraw(last, p); err != nil {
		return nil, err
	} else if gone {
		return nil, failf("nothing was decided: decisions are written down in the audit log before they hold. It cannot be written here: %s. And no server that runs has done it: start it, or look at its log", cannot)
	}
	if a, err = d.await(last, p, untilDone); a != nil || err != nil {
		return a, err
	}
	return nil, failf("a server has begun to write this decision down, and whether it holds is not known: see hatchel approvals show %s", p.Approval.ID)
}

// await waits for what becomes of a proposal; nil when nothing has in time.
func (d *storeDesk) await(ctx context.Context, p *approval.Proposal, most time.Duration) (*approval.Approval, error) {
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	a, err := d.book.Await(bounded, p.Approval, 0, nil)
	switch {
	case err != nil && bounded.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, err
	case a.Decision == nil || a.Decision.By != p.Decision.By || !a.Decision.At.Equal(p.Decision.At):
		return nil, &approval.AlreadyError{Status: a.Status, Decision: a.Decision}
	}
	return a, nil
}
