package served

import (
	"path/filepath"

	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
)

// AuditLocation returns the path of a file or the address of a database; empty for standard output.
func AuditLocation(decl *hcl.Audit, dir string) string {
	switch {
	case decl.Stdout:
		return ""
	case decl.Postgres != "":
		return decl.Postgres.Reveal()
	}
	path := filepath.FromSlash(decl.File)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if resolved, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(resolved, filepath.Base(path))
	}
	return path
}

// AuditSource returns the audit log, to be read. It is nil when nothing can be read, and why says so in a sentence
// without a full stop.
func (s *Served) AuditSource() (log audit.Source, why string) {
	decl := s.Config.Audit
	switch {
	case decl == nil || s.Audit == nil:
		return nil, "The configuration has no audit block, so nothing is recorded"
	case decl.Stdout:
		return nil, "The audit log goes to standard output, so it can be read where that is collected"
	}
	location := AuditLocation(decl, s.Home)
	if decl.Postgres != "" {
		return audit.Database(location), ""
	}
	return audit.File(location), ""
}
