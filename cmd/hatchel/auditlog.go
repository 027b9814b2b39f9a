package main

import (
	"context"
	"fmt"
	"io"

	"hatchel/hcl"
	"hatchel/runtime/audit"
)

// auditLog is where an audit log is: in a file, or in a database.
type auditLog struct {
	file    string
	address hcl.SecretText
}

func (l auditLog) String() string {
	if l.address != "" {
		return "the database"
	}
	return l.file
}

// read gives every record to each, and when it follows, those that are written later.
func (l auditLog) read(ctx context.Context, follow bool, each func(*audit.Line) bool) (err error) {
	switch {
	case l.address != "" && follow:
		err = audit.FollowTable(ctx, l.address.Reveal(), each)
	case l.address != "":
		err = audit.ReadTable(ctx, l.address.Reveal(), each)
	case follow:
		err = audit.Follow(ctx, l.file, each)
	default:
		err = audit.Read(l.file, each)
	}
	return l.unread(err)
}

func (l auditLog) unread(err error) error {
	if err == nil {
		return nil
	}
	return failf("%s cannot be read: %s", l, reason(err))
}

// verify says whether anything was changed.
func (l auditLog) verify(ctx context.Context, w io.Writer) error {
	var v *audit.Verdict
	var err error
	if l.address != "" {
		v, err = audit.VerifyTable(ctx, l.address.Reveal())
	} else {
		v, err = audit.Verify(l.file)
	}
	switch {
	case err != nil:
		return l.unread(err)
	case v.Broken != nil:
		return failf("%s", v)
	}
	fmt.Fprintf(w, "%s: %s\n", l, v)
	return nil
}

// probeAudit asks the database of an audit block whether it will work.
func probeAudit(ctx context.Context, declared *hcl.Audit) hcl.Diagnostics {
	if declared == nil || declared.Postgres == "" {
		return nil
	}
	if err := audit.CheckTable(ctx, declared.Postgres.Reveal()); err != nil {
		return hcl.Diagnostics{{Summary: "Audit refused", Detail: "Calls cannot be written down in the database: " + err.Error() + ".", Subject: declared.Range}}
	}
	return nil
}
