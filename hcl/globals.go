package hcl

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

// globals are what every tool can see: values known at load, types and connections. A reload that finds them unchanged goes on with the ones it had,
// so that the tools of unchanged files can be kept as they are.
type globals struct {
	key         string // digest of all they were made of
	variables   map[string]*member
	secrets     map[string]*member
	local       map[string]*member
	localSet    *localSet
	types       *typeSet
	linked      map[string]map[string]*Connection // by kind and name
	connections []*Connection
	server      Server
	revealed    []string // the texts of all secrets
	environs    string   // digest of what was read beside the files
	base        *scope   // what is readable everywhere at load
	call        *scope   // what is readable in a call before anything was done
	patterns    *functions.Patterns
}

// recognize takes over the globals of the load before when nothing about them has changed.
func (l *loader) recognize() {
	parts := []string{l.environment(), l.files.read, fmt.Sprint(l.partial)}
	for _, kind := range sortedNames(l.blocks) {
		if topLevel[kind].offered {
			continue
		}
		for _, b := range l.blocks[kind] {
			r := b.Range()
			parts = append(parts, r.Filename, fmt.Sprint(r.Start), string(b.file.src[r.Start.Byte:b.CloseBraceRange.End.Byte]))
		}
	}
	l.key = digest(parts...)
	l.call = l.base.during().with("caller", callerRoot()).
		without("output", "output is the answer of the backend, and there is none yet here. It can be read in result, text, content and expect.").
		without("step", "There are no steps before this place. A step can be read after it, as step.<name>.").
		without("each", "each is the element in hand of a step or statement with `each = …`, and there is none around this place.").
		without("error", "error is what went wrong, and it can be read in the tool's `error` text only.")
	if before := l.opts.Cache.seen(l.key); before != nil {
		l.globals.handOver(before)
		l.globals = before
	}
	for _, name := range l.call.readable() {
		r, _ := l.call.find(name)
		r.shape() // now, because tools are decoded on any goroutine
	}
}

// handOver says what this load has read so far; what was read before counts no more.
func (g *globals) handOver(to *globals) {
	for _, sets := range [][2]map[string]*member{{g.variables, to.variables}, {g.secrets, to.secrets}, {g.local, to.local}} {
		for name, m := range sets[0] {
			sets[1][name].used = m.used
		}
	}
}

// digests says what every value is that is known at load, for the digests of what reads it.
func (l *loader) digests() {
	for noun, set := range map[string]map[string]*member{"var": l.variables, "secret": l.secrets, "local": l.local} {
		for name, m := range set {
			text, err := value.AppendJSON(nil, m.value)
			if err != nil { // it holds bytes
				text = fmt.Append(nil, m.value)
			}
			m.digest = digest(noun, name, string(text))
		}
	}
}

// digest is of a block and of everything it refers to: values known at load, types, files and connections.
func (l *loader) digest(b block, u *uses) string {
	parts := make([]string, 0, len(u.members)+len(u.connections)+len(u.types)+2)
	for _, m := range u.members {
		parts = append(parts, m.digest)
	}
	for _, c := range u.connections {
		parts = append(parts, c.Kind+" "+c.Name+" "+c.Digest)
	}
	for _, name := range u.types {
		parts = append(parts, l.types.digest(name))
	}
	slices.Sort(parts) // programs note what they read in any order
	parts = append(slices.Compact(parts), string(b.file.src[b.Range().Start.Byte:b.CloseBraceRange.End.Byte]), u.read)
	return digest(parts...)
}

// uses are what a block reads of the globals.
type uses struct {
	members     []*member
	connections []*Connection
	types       []string
	webhooks    []string // whom it has told something
	caller      bool     // who calls
	files       bool     // it reads files of the folder, which may change without its own
	read        string   // digest of those files
}

// personal reports whether what a block does depends on who calls.
func (u *uses) personal() bool {
	return u.caller || slices.ContainsFunc(u.connections, func(c *Connection) bool { return c.personal })
}

// note marks what a tool reads as used.
func (l *loader) note(u *uses) {
	for _, m := range u.members {
		m.used = true
	}
	for _, c := range u.connections {
		l.used[c] = true
	}
	for _, name := range u.webhooks {
		l.told[name] = true
	}
}

// environment digests what was read beside the files.
func (l *loader) environment() string {
	if l.environs != "" {
		return l.environs
	}
	var parts []string
	for _, set := range []map[string]*member{l.variables, l.secrets} {
		for _, name := range sortedNames(set) {
			parts = append(parts, name, fmt.Sprint(set[name].value))
		}
	}
	l.environs = digest(parts...)
	return l.environs
}

// A folder is the files that functions read while a configuration is loaded.
type folder struct {
	fsys fs.FS
	read string // digests of what was read for the globals
}

// context is what functions see while files are loaded; read is told of every file.
func (l *loader) context(read func(name string, content []byte)) functions.Context {
	fsys := l.files.fsys
	return functions.Context{Memory: functions.DefaultMemory, Patterns: l.patterns, ReadFile: func(name string) ([]byte, error) {
		clean := path.Clean(name)
		if !fs.ValidPath(clean) {
			return nil, fs.ErrInvalid
		}
		b, err := fs.ReadFile(fsys, clean)
		read(clean, b)
		return b, err
	}}
}
