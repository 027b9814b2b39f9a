package eval

// ReadSet are what the parts compiled so far depend on. The zero value depends on nothing.
type ReadSet struct {
	Call      bool // a value of the call, or something that is wrong
	Sensitive bool
	Caller    bool // the caller's identity
	Loop      int  // loopVars minus the lowest slot of the variables read of loops around; 0 when none is
}

const MaxLoopVars = 1 << 30

func (r ReadSet) Union(s ReadSet) ReadSet {
	return ReadSet{r.Call || s.Call, r.Sensitive || s.Sensitive, r.Caller || s.Caller, max(r.Loop, s.Loop)}
}

// Known reports whether what was read is known when the file is loaded.
func (r ReadSet) Known() bool { return !r.Call && r.Loop == 0 }

// Dependencies are what a block reads of what is declared elsewhere. It belongs to one block;
// nothing else writes it.
type Dependencies struct {
	Members     []*Member
	Types       []string
	Webhooks    []string // that it notifies
	Caller      bool     // who calls
	ReadsFiles  bool     // it reads files of the configuration directory, which may change without its own
	FilesDigest string   // digest of those files
}
