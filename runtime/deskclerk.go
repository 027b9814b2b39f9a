package runtime

import (
	"context"
	"errors"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
)

// Clerk writes decisions down that are made beside a server, in the log that the server writes when it runs.
type Clerk struct {
	log     auditLog
	release func() error
}

// Clerk opens the log of a block, which is a database, or a file that no server writes at the moment. The error is a sentence: then a server has to write. Who has a Clerk closes it.
func (as *AuditLogs) Clerk(ctx context.Context, decl *hcl.Audit, dir string) (*Clerk, error) {
	declared := *decl
	declared.Rotate = 0 // the next file would belong to who decides, and not to who serves
	if decl.File != "" {
		if files, err := audit.Files(auditLocation(decl, dir)); err != nil || len(files) == 0 {
			return nil, errors.New("its file is not there: no server has begun it")
		}
	}
	log, release, err := as.acquire(ctx, &declared, dir)
	if err != nil {
		return nil, err
	}
	return &Clerk{log, release}, nil
}

// Write writes a decision down, durably. With an error it must not hold.
func (c *Clerk) Write(p *approval.Proposal, by audit.Caller) error {
	r := DecisionRecord(p, by)
	return c.log.Append(&r, true)
}

// Close gives the log back.
func (c *Clerk) Close() error { return c.release() }
