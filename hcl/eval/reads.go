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
	find := func(x Read, at int) int { return cmp.Compare(int(x.From), at) }
	first, _ := slices.BinarySearchFunc(r.Places, from, find)
	last := first
	for last < len(r.Places) && int(r.Places[last].From) < to {
		last++
	}
	return r.Places[first:last]
}

// FilesIn returns the files that the calls in a part of the source read.
func (r *Reads) FilesIn(from, to int) (out []ReadFile) {
	if r == nil {
		return nil
	}
	for _, f := range r.Files {
		if int(f.From) >= from && int(f.To) <= to {
			out = append(out, f)
		}
	}
	return out
}

// FilesOf returns the files that a call reads.
func (r *Reads) FilesOf(from, to int) []ReadFile {
	if r == nil {
		return nil
	}
	find := func(x ReadFile, at int) int { return cmp.Compare(int(x.From), at) }
	first, _ := slices.BinarySearchFunc(r.Files, from, find)
	var out []ReadFile
	for _, f := range r.Files[first:] {
		if int(f.From) == from && int(f.To) == to {
			out = append(out, f)
		} else if int(f.From) > from {
			break
		}
	}
	return out
}

// Program returns the program that begins at a byte; nil for none.
func (r *Reads) Program(from int) *ReadProgram {
	if r == nil {
		return nil
	}
	find := func(x ReadProgram, at int) int { return cmp.Compare(int(x.From), at) }
	if i, found := slices.BinarySearchFunc(r.Programs, from, find); found {
		return &r.Programs[i]
	}
	return nil
}

// TypeAt returns the type that is written at a byte; nil for none.
func (r *Reads) TypeAt(from int) *schema.Type {
	if r == nil {
		return nil
	}
	find := func(x ReadType, at int) int { return cmp.Compare(int(x.From), at) }
	if i, found := slices.BinarySearchFunc(r.Types, from, find); found {
		return r.Types[i].Type
	}
	return nil
}

// IsDefault reports whether the argument whose value begins at a byte has its default.
func (r *Reads) IsDefault(from int) bool {
	if r == nil {
		return false
	}
	_, found := slices.BinarySearch(r.Defaults, uint32(from))
	return found
}
