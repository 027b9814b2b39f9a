package hcl

import (
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Files says what callers may upload.
type Files struct {
	MaxSize Size          // of one
	Types   []string      // media types, as in "image/*"; nil for all
	TTL     time.Duration // how long one is kept
	BaseURL string        // how others reach the server, without a / at its end; empty when nobody says
	Range   Range         // zero when there is no block

	address string // that files are uploaded to; empty with BaseURL
}

const (
	defaultFileSize = 32 << 20
	largestFile     = 256 << 20
	smallestFile    = 1 << 10
	defaultFileTTL  = 24 * time.Hour
	shortestFileTTL = time.Minute
	longestFileTTL  = 30 * 24 * time.Hour
)

func (f *Files) spec() Spec {
	f.MaxSize, f.TTL = defaultFileSize, defaultFileTTL
	return Spec{
		special("max_size", "size", "How large a file may be. An input may set a lower max_size.", f.maxSize).Or("32MiB"),
		special("types", "list of strings", "The media types that are taken, as in [\"application/pdf\", \"image/*\"]. Both what the client says and what the bytes look like must be among them. Without it all types are taken.", f.types),
		special("ttl", "duration", "How long a file is kept after it was uploaded.", f.ttl).Or("24h"),
		special("base_url", "string", "The address of this server as others reach it, as in \"https://tools.example.com\". It is needed for input.<name>.url, and to tell callers where to upload. Without it, addresses in answers begin with /files.", f.baseURL),
	}
}

func (f *Files) maxSize(d *decoder, e hclsyntax.Expression) {
	before := len(d.diags)
	size := d.size(e, Field{Name: "max_size"})
	switch {
	case len(d.diags) > before || size == 0: // what it is made of is not known
	case size > largestFile:
		d.errorf(e.Range(), "Invalid size", "An uploaded file may have %s at most.", Size(largestFile))
	case size < smallestFile:
		d.errorf(e.Range(), "Invalid size", "This is %s, and files are larger. Write the unit, too, as in \"4MiB\".", size)
	default:
		f.MaxSize = size
	}
}

func (f *Files) types(d *decoder, e hclsyntax.Expression) {
	list, ok := d.known(e, Field{Name: "types"}, "list").([]any)
	if !ok {
		return
	}
	for _, v := range list {
		pattern, _ := v.(string)
		if !schema.IsMediaPattern(pattern) {
			d.errorf(e.Range(), "Invalid media type", "types lists media types, as in [\"application/pdf\", \"image/*\"], and %q is none.", pattern)
			return
		}
		f.Types = append(f.Types, strings.ToLower(pattern))
	}
	if len(list) == 0 {
		d.errorf(e.Range(), "Invalid media type", "types lists media types, as in [\"application/pdf\", \"image/*\"]. Leave it out to take files of every type.")
	}
}

func (f *Files) ttl(d *decoder, e hclsyntax.Expression) {
	before := len(d.diags)
	f.TTL = d.duration(e, Field{Name: "ttl"})
	if len(d.diags) == before && (f.TTL < shortestFileTTL || f.TTL > longestFileTTL) {
		d.errorf(e.Range(), "Invalid duration", "A file is kept for 1m to 720h.")
	}
}

func (f *Files) baseURL(d *decoder, e hclsyntax.Expression) {
	text, ok := d.known(e, Field{Name: "base_url"}, "string").(string)
	if !ok {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		d.errorf(e.Range(), "Invalid base URL", "base_url is the address of this server as others reach it, as in \"https://tools.example.com\", and this is %q.", text)
		return
	}
	f.BaseURL = strings.TrimRight(text, "/")
	f.address = f.BaseURL + "/files"
}

// uploads decodes the files block.
func (l *loader) uploads() {
	f := &l.config.Files
	d, b, ok := l.single("files", f.spec())
	if ok {
		f.Range = at(b.DefRange())
		l.diags = append(l.diags, d.diags...)
	}
}

// Uploads reports whether callers may upload: the files block is there, or a tool takes a file.
func (c *Config) Uploads() bool {
	if c.Files.Range != (Range{}) {
		return true
	}
	for _, t := range c.Tools {
		if t.Input.HoldsFile() {
			return true
		}
	}
	return false
}

// fileArgument is a file as a function takes it: its bytes where those are asked for, which are paid for as any other.
func (f *Frame) fileArgument(fn *functions.Function, i int, file value.File) (any, error) {
	p, _ := fn.Param(i)
	if p.Kind != functions.Bytes && p.Kind != functions.Data {
		return file, nil
	}
	if err := f.functions.Spend(int(file.Facts().Size)); err != nil {
		return nil, err
	}
	return value.Raw(file)
}

// refuseFile reports a type with a file in it, where no caller sends one.
func (d *decoder) refuseFile(t *schema.Type, e hclsyntax.Expression, what string) {
	if t.HoldsFile() {
		d.errorf(e.Range(), "Misplaced file", "A file is what a caller of a tool uploads, so it is the type of an input, and %s has none.", what)
	}
}

// noFile reports a file, or what holds one, in an argument that does not take its bytes.
func (c *compiler) noFile(n node, e hclsyntax.Expression, f Field) {
	if f.Files || !n.typ.HoldsFile() {
		return
	}
	what := "holds a file"
	if n.typ.Kind == schema.File {
		what = "is a file"
	}
	name := subject(n)
	if n.path == "" || n.typ.Kind != schema.File {
		name = "input.name"
	}
	c.errorf(e.Range(), "File has no text", "%s %s, and %s takes texts and the like. Name what is meant: %s.filename, %s.url, or base64encode(%s). Bytes are sent with multipart or body of an http block, stdin of a program, content of a file or a parameter in SQL; a program reads the copy %s.path.", subject(n), what, f.Name, name, name, name, name)
}
