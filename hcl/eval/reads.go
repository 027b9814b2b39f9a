package eval

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

// Read is a place of a file that reads a value: of a declaration, of the caller or of the call.
type Read struct {
	From, To uint32 // the bytes of the traversal, or of the program
	Path     string // as MemberPath has it, such as "local.map.a", "secret.k" or "caller.claims.tenant"
}

// ReadFile is a place of a file where a function has read another file of the configuration directory.
type ReadFile struct {
	From, To     uint32 // the bytes of the call
	Name, Digest string // of the file, and of its content
}

// ReadProgram is a place of a file where an expr program is written.
type ReadProgram struct {
	From uint32 // the first byte of the argument
	// Form returns the logical form of the program. Value returns the normal form of the value of a traversal; an empty
	// one stands for the traversal itself.
	Form func(value func(path []string) string) *Formula
}

// ReadType is a place of a file where a type is written.
type ReadType struct {
	From uint32 // the first byte of the argument
	Type *schema.Type
}

// Branch is a condition of an argument or of an %{if}, with which a call takes one of two ways.
type Branch struct {
	At   diag.Range // of the condition
	Text string     // as it is written
}

// Reads are what the expressions of one file read, each list sorted by place.
type Reads struct {
	File     string
	Places   []Read
	Files    []ReadFile
	Programs []ReadProgram
	Types    []ReadType
	Defaults []uint32 // the first bytes of arguments that have the value that they have without being written
	Branches []Branch // only of a load with tests
}

// RecordRead records that a part of a file reads a traversal.
func (d *Dependencies) RecordRead(from, to int, path string) {
	if d != nil {
		d.Places = append(d.Places, Read{uint32(from), uint32(to), path})
	}
}

// RecordFile records that a call of a function reads a file.
func (d *Dependencies) RecordFile(from, to int, name, digest string) {
	if d != nil {
		d.Files = append(d.Files, ReadFile{uint32(from), uint32(to), name, digest})
	}
}

// RecordProgram records an expr program.
func (d *Dependencies) RecordProgram(from int, form func(func([]string) string) *Formula) {
	if d != nil {
		d.Programs = append(d.Programs, ReadProgram{uint32(from), form})
	}
}

// RecordType records the type of an argument.
func (d *Dependencies) RecordType(from int, t *schema.Type) {
	if d != nil {
		d.Written = append(d.Written, ReadType{uint32(from), t})
	}
}

// RecordDefault records that an argument has the value that it has without being written.
func (d *Dependencies) RecordDefault(from int) {
	if d != nil {
		d.Defaults = append(d.Defaults, uint32(from))
	}
}

// RecordBranch records a condition.
func (d *Dependencies) RecordBranch(at diag.Range, text string) {
	if d != nil {
		d.Branches = append(d.Branches, Branch{at, text})
	}
}

// ReadsOf returns what was recorded. File is the file of the block.
func (d *Dependencies) ReadsOf(file string) *Reads {
	return (&Reads{file, d.Places, d.Files, d.Programs, d.Written, d.Defaults, d.Branches}).sort()
}

// sort sorts the lists; an expression may be compiled more than once.
func (r *Reads) sort() *Reads {
	slices.SortFunc(r.Places, func(a, b Read) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), strings.Compare(a.Path, b.Path))
	})
	slices.SortFunc(r.Files, func(a, b ReadFile) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.Programs, func(a, b ReadProgram) int { return cmp.Compare(a.From, b.From) })
	slices.SortStableFunc(r.Types, func(a, b ReadType) int { return cmp.Compare(a.From, b.From) })
	slices.SortFunc(r.Branches, func(a, b Branch) int { return cmp.Compare(a.At.Start.Byte, b.At.Start.Byte) })
	slices.Sort(r.Defaults)
	r.Defaults = slices.Compact(r.Defaults)
	r.Branches = slices.Compact(r.Branches)
	r.Places, r.Files = slices.Clip(slices.Compact(r.Places)), slices.Compact(r.Files)
	r.Programs = slices.CompactFunc(r.Programs, func(a, b ReadProgram) bool { return a.From == b.From })
	return r
}

// JoinReads returns the reads of several blocks, by their files.
func JoinReads(lists []*Reads) map[string]*Reads {
	joined := map[string]*Reads{}
	for _, r := range lists {
		if r == nil {
			continue
		}
		all := joined[r.File]
		if all == nil {
			all = &Reads{File: r.File}
			joined[r.File] = all
		}
		all.Places, all.Files = append(all.Places, r.Places...), append(all.Files, r.Files...)
		all.Programs, all.Types = append(all.Programs, r.Programs...), append(all.Types, r.Types...)
		all.Defaults = append(all.Defaults, r.Defaults...)
	}
	for _, r := range joined {
		r.sort()
	}
	return joined
}

// In returns the reads of a part of the file.
func (r *Reads) In(from, to int) []Read {
	if r == nil {
		return nil
	}
	begin := func(x Read) uint32 { return x.From }
	return r.Places[firstAt(r.Places, from, begin):firstAt(r.Places, to, begin)]
}

// firstAt returns the index of the first record that begins at a byte or after it.
func firstAt[T any](sorted []T, at int, begin func(T) uint32) int {
	i, _ := slices.BinarySearchFunc(sorted, at, func(x T, at int) int { return cmp.Compare(int(begin(x)), at) })
	return i
}

// recordAt returns the record that begins at a byte; nil for none.
func recordAt[T any](sorted []T, at int, begin func(T) uint32) *T {
	if i := firstAt(sorted, at, begin); i < len(sorted) && int(begin(sorted[i])) == at {
		return &sorted[i]
	}
	return nil
}

// FilesIn returns the files that the calls in a part of the source read.
func (r *Reads) FilesIn(from, to int) []ReadFile {
	return r.filesWhere(func(f ReadFile) bool { return int(f.From) >= from && int(f.To) <= to })
}

// FilesOf returns the files that a call reads.
func (r *Reads) FilesOf(from, to int) []ReadFile {
	return r.filesWhere(func(f ReadFile) bool { return int(f.From) == from && int(f.To) == to })
}

func (r *Reads) filesWhere(holds func(ReadFile) bool) (out []ReadFile) {
	if r == nil {
		return nil
	}
	for _, f := range r.Files {
		if holds(f) {
			out = append(out, f)
		}
	}
	return out
}

// Program returns the program that begins at a byte; nil for none.
func (r *Reads) Program(from int) *ReadProgram {
	if r == nil {
		return nil
	}
	return recordAt(r.Programs, from, func(x ReadProgram) uint32 { return x.From })
}

// TypeAt returns the type that is written at a byte; nil for none.
func (r *Reads) TypeAt(from int) *schema.Type {
	if r == nil {
		return nil
	}
	if t := recordAt(r.Types, from, func(x ReadType) uint32 { return x.From }); t != nil {
		return t.Type
	}
	return nil
}

// IsDefault reports whether the argument whose value begins at a byte has its default.
func (r *Reads) IsDefault(from int) bool {
	return r != nil && recordAt(r.Defaults, from, func(x uint32) uint32 { return x }) != nil
}
