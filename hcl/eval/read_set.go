package eval

// ReadSet says what the parts compiled so far depend on. The zero value depends on nothing.
type ReadSet struct {
	Call      bool // a value of the call, or an invalid part
	Sensitive bool
	Caller    bool // the caller's identity
	Loop      int  // MaxLoopVars minus the lowest slot that is read of loops around; 0 for none
}

const MaxLoopVars = 1 << 30

// Union returns what either set depends on.
func (r ReadSet) Union(s ReadSet) ReadSet {
	return ReadSet{r.Call || s.Call, r.Sensitive || s.Sensitive, r.Caller || s.Caller, max(r.Loop, s.Loop)}
}

// Known reports whether everything that was read is known at load.
func (r ReadSet) Known() bool { return !r.Call && r.Loop == 0 }

// Dependencies record what a block reads of other declarations. They belong to one block.
type Dependencies struct {
	Members     []*Member
	Types       []string
	Webhooks    []string // that it notifies
	Caller      bool     // the caller's identity
	ReadsFiles  bool     // files of the configuration directory, other than .hcl
	FilesDigest string   // digest of those files
}
