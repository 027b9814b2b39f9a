package decode

import (
	"cmp"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// Spec declares the arguments and nested blocks of a block. It is bound to one configuration value
// and decodes into it; the reference, diagnostics and completion of names use the same fields.
// Their order is the order of the reference.
type Spec []Field

// Field is one argument or one nested block of a Spec.
type Field struct {
	Name     string
	Doc      string // one sentence or two
	Type     string // as the reference prints it; empty for a block
	Default  string // as the reference prints it
	Required bool
	Secret   bool   // may contain secrets: the value is never shown
	Sent     bool   // its members are credentials, under whatever names
	Files    bool   // may be an uploaded file, whose bytes are used
	Fixed    bool   // of KeyValues: the keys must be known at load
	Many     bool   // the block may be repeated
	Label    string // the meaning of the block's label; empty for a block without label

	omitsAbsent  bool   // of an Expr, see OmitAbsent
	keepsMembers bool   // of an Expr, see KeepMembers
	page         bool   // of a RequestURL, see Page
	collection   bool   // of an Expr, see CompileCollection
	formerly     string // the former name of the argument
	instead      []string
	hint         string           // about a name that authors write instead
	last         bool             // it is decoded after the other fields
	inputs       *inputsByDefault // of an Expr, see InputsByDefault
	group        *group
	Target       any // the pointer decoded into
	DecodeAttr   func(*Decoder, hclsyntax.Expression, Field)
	DecodeBlock  func(*Decoder, *hclsyntax.Block)
	NestedSpec   func() Spec // of a block, for the reference
}

func (f *Field) isArgument() bool { return f.DecodeAttr != nil }

// group is a set of mutually exclusive arguments.
type group struct {
	what     string
	required bool
}

// Value lists the types that arguments can be decoded into. The type determines when the value is
// known: plain types at load; Expr, StringExpr, KeyValues and the like are computed for every call.
type Value interface {
	string | bool | int | float64 | *bool | *float64 | []string | []int | Statuses |
		time.Duration | Size | SecretText | SecretTexts | *schema.Type |
		*hclexpr.Expr | *hclexpr.StringExpr | *hclexpr.TextTemplate | *hclexpr.KeyValues |
		*hclexpr.SQL | *hclexpr.Script | *hclexpr.Argv | *hclexpr.Pipe |
		*hclexpr.RequestURL | *hclexpr.Condition | *hclexpr.Program
}

// Attr declares an argument that is decoded into dst.
func Attr[T Value](dst *T, name, doc string) Field {
	return Field{Name: name, Doc: doc, Type: typeNames[reflect.TypeFor[T]()], Target: dst,
		DecodeAttr: func(d *Decoder, e hclsyntax.Expression, f Field) {
			d.Ranges[dst] = diag.RangeOf(e.Range())
			d.decodeValue(any(dst), e, f)
		}}
}

// Block declares a nested block that is decoded into a new T.
func Block[T any](dst **T, name, doc string, spec func(*T) Spec) Field {
	return Field{Name: name, Doc: doc, Target: dst, NestedSpec: func() Spec { return spec(new(T)) },
		DecodeBlock: func(d *Decoder, b *hclsyntax.Block) {
			d.Ranges[dst] = diag.RangeOf(b.DefRange())
			v := new(T)
			d.Body(b, spec(v))
			*dst = v
		}}
}

// Custom declares an argument with its own decode function.
func Custom(name, typ, doc string, read func(*Decoder, hclsyntax.Expression)) Field {
	decode := func(d *Decoder, e hclsyntax.Expression, _ Field) { read(d, e) }
	return Field{Name: name, Type: typ, Doc: doc, DecodeAttr: decode}
}

// Blocks declares a repeatable block with a label, or without one if label is empty.
func Blocks(name, label, doc string, nested func() Spec, read func(*Decoder, *hclsyntax.Block)) Field {
	return Field{Name: name, Label: label, Doc: doc, Many: true, NestedSpec: nested, DecodeBlock: read}
}

// EachField declares a list or map. The fields after it in the spec are computed for every element
// and can read each.key and each.value; the adapter sets Frame.Each of a fork of the frame.
func EachField(dst **hclexpr.Expr, name, doc string) Field {
	f := Attr(dst, name, doc).AllowFile()
	f.collection = true
	return f.Then(func(d *Decoder, _ diag.Range) {
		key, elem := d.eachElements(*dst)
		d.Scope = d.Scope.With("each", eval.EachRoot(key, elem))
	})
}

// KeyField declares what names the elements of a list that an EachField before it has decoded. The fields after it in
// the spec read the name as each.key.
func KeyField(dst, each **hclexpr.Expr, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, r diag.Range) {
		if *each == nil {
			d.Diags.Errorf(r, "Nothing to name", "%s names the elements of each, which is missing here. Write "+
				"each = input.list.", name)
			return
		}
		switch t := (*each).Type(); t.Kind {
		case schema.Map, schema.Object:
			d.Diags.Errorf(r, "Named elements", "The elements of %s have names already, which are read as each.key. "+
				"Remove %s, or write each = values(…).", diag.WithArticle(t.String()), name)
			return
		}
		switch t := (*dst).Type(); t.Kind {
		case schema.String, schema.Integer, schema.Any:
		default:
			d.Diags.Errorf(r, "Not a name", "%s must be a string or an integer, such as each.value.id, not %s.", name,
				t)
			return
		}
		_, elem := d.eachElements(*each)
		d.Scope = d.Scope.With("each", eval.EachRoot(eval.StringType, elem))
	})
}

// CommandFields declares what to run, one of several arguments, with the standard input and the
// environment that its checks know.
func CommandFields(run Spec, stdin **hclexpr.Expr, stdinDoc string, env **hclexpr.KeyValues, envDoc string,
	dataPrograms *[]string, dataProgramsDoc string, runsStdin *bool, runsStdinDoc string) Spec {
	for i := range run {
		run[i].last = true
	}
	return append(ExactlyOneOf("what to run", run...),
		Attr(stdin, "stdin", stdinDoc).AllowFile().Then(func(d *Decoder, r diag.Range) {
			if (*stdin).CallerText() {
				d.Command.Inputs.Stdin = string(d.Src[r.Start.Byte:r.End.Byte])
			}
		}),
		Attr(env, "env", envDoc).AllowSecret().FixedKeys().Then(func(d *Decoder, _ diag.Range) {
			d.Command.Inputs.Env = (*env).CommandInputs(d.Src)
			for _, r := range (*env).LoosePaths() {
				d.rejectLoosePath(r, "the variable is a path")
			}
		}),
		Attr(dataPrograms, "data_programs", dataProgramsDoc).Then(func(d *Decoder, _ diag.Range) {
			d.Command.Inputs.DataPrograms = slices.Concat(d.Command.Inputs.DataPrograms, *dataPrograms)
		}),
		Attr(runsStdin, "runs_stdin", runsStdinDoc).Then(func(d *Decoder, _ diag.Range) {
			d.Command.Inputs.RunsStdin = *runsStdin
		}))
}

// FolderField declares a folder in which programs work.
func FolderField(dst **hclexpr.StringExpr, name, doc string) Field {
	return Attr(dst, name, doc).Then(func(d *Decoder, r diag.Range) {
		if !(*dst).StaysInFolder() {
			d.rejectLoosePath(r, name+" is a path")
		}
	})
}

func (d *Decoder) rejectLoosePath(r diag.Range, why string) {
	source := string(d.Src[r.Start.Byte:r.End.Byte])
	d.Diags.Errorf(r, hclexpr.LoosePath, "%s", hclexpr.LoosePathDetail(source, why))
}

// Headers declares named values of which none is called name: it warns of { name = …, value = … }.
func Headers(dst **hclexpr.KeyValues, name, doc string) Field {
	return Attr(dst, name, doc).AllowSecret().Wrap(func(d *Decoder, e hclsyntax.Expression, read func()) {
		read()
		if header, ok := (*dst).NameAsValue(); ok {
			d.Warnf(e.Range(), "Key is not the name", "This sends two entries that are called \"name\" and \"value\". "+
				"The key is the name: write %s = { %q = … }.", name, cmp.Or(header, "X-Api-Key"))
		}
	})
}

// Guard declares a condition on which the fields after it in the spec can rely.
func Guard(dst **hclexpr.Condition, name, doc string) Field {
	return Attr(dst, name, doc).Then(func(d *Decoder, _ diag.Range) {
		d.NonNull = d.NonNull.Add((*dst).NonNullWhenTrue())
	})
}

// WithOutput makes the root output, the current output of the backend of type t, readable in
// fields.
func WithOutput(t *schema.Type, fields ...Field) Spec {
	return withOutput(t, func(*Decoder) eval.Facts { return eval.Facts{} }, fields)
}

// WithPage is WithOutput for expressions that make the output of pages, to which the masks of the output apply.
func WithPage(t *schema.Type, fields ...Field) Spec {
	return withOutput(t, func(d *Decoder) eval.Facts { return eval.Facts{Covers: d.Covers} }, fields)
}

func withOutput(t *schema.Type, facts func(*Decoder) eval.Facts, fields []Field) Spec {
	for i, f := range fields {
		fields[i] = f.Wrap(func(d *Decoder, _ hclsyntax.Expression, read func()) {
			d.In(d.Scope.With("output", eval.OutputRoot(t, facts(d))), read)
		})
	}
	return fields
}

// Wrap makes do decode an argument, which calls read to decode it as before.
func (f Field) Wrap(do func(d *Decoder, e hclsyntax.Expression, read func())) Field {
	inner := f.DecodeAttr
	f.DecodeAttr = func(d *Decoder, e hclsyntax.Expression, f Field) { do(d, e, func() { inner(d, e, f) }) }
	return f
}

// Then makes an argument call do with its range after it was decoded.
func (f Field) Then(do func(d *Decoder, r diag.Range)) Field {
	return f.Wrap(func(d *Decoder, e hclsyntax.Expression, read func()) {
		read()
		do(d, diag.RangeOf(e.Range()))
	})
}

// Decides reports that a masked value decides, if it is in what a program argument gives.
func (f Field) Decides(p **hclexpr.Program) Field {
	return f.Then(func(d *Decoder, r diag.Range) {
		if masks := (*p).HeldMasks(); masks != nil {
			d.Diags.Errorf(r, eval.MaskedDecides, "%s", eval.MaskedDecidesDetail("What it gives", masks))
		}
	})
}

// Contents makes the content of the file that a string argument names part of the configuration, as if it were read by
// file(). A file outside of the configuration directory is not part of it, and neither is one that cannot be read.
func (f Field) Contents() Field {
	name := f.Target.(*string)
	return f.Check(func(d *Decoder, r diag.Range) { d.recordFile(*name, r) })
}

// recordFile records that the argument in a range reads a file.
func (d *Decoder) recordFile(name string, r diag.Range) {
	if d.Env.Functions == nil || name == "" || !filepath.IsLocal(name) {
		return
	}
	if content, err := d.Env.Functions(d.Deps).ReadFile(name); err == nil {
		d.Deps.RecordFile(r.Start.Byte, r.End.Byte, path.Clean(name), eval.ContentDigest(content))
	}
}

// ReadPins reads the file of the configuration directory that a string argument of a connection names into content, and
// makes it part of the configuration, as file() does. A backend that uses the connection depends on the pin alone that
// is in its effects. It reports a file that cannot be read.
func (f Field) ReadPins(content *[]byte) Field {
	name := f.Target.(*string)
	return f.Check(func(d *Decoder, r diag.Range) {
		if d.Env.Functions == nil {
			return
		}
		var read eval.Dependencies
		reads := d.Env.Functions(&read)
		var err error
		*content, err = functions.ReadFile(&reads, *name)
		d.Deps.ReadsFiles, d.Deps.PinsDigest = true, read.FilesDigest
		if err != nil {
			d.Diags.Errorf(r, "File not readable", "%s.", diag.ToSentence(err.Error()))
			return
		}
		d.Deps.RecordFile(r.Start.Byte, r.End.Byte, path.Clean(*name), eval.ContentDigest(*content))
	})
}

// Check makes an argument call valid with its range after it was decoded without a mistake.
func (f Field) Check(valid func(d *Decoder, r diag.Range)) Field {
	return f.Wrap(func(d *Decoder, e hclsyntax.Expression, read func()) {
		before, missing := len(d.Diags), d.MissingValue
		d.MissingValue = false
		read()
		if len(d.Diags) == before && !d.MissingValue {
			valid(d, diag.RangeOf(e.Range()))
		}
		d.MissingValue = d.MissingValue || missing
	})
}

// CheckBlock makes a block call valid after it was decoded without a mistake.
func (f Field) CheckBlock(valid func(*Decoder, *hclsyntax.Block)) Field {
	read := f.DecodeBlock
	f.DecodeBlock = func(d *Decoder, b *hclsyntax.Block) {
		before := len(d.Diags)
		read(d, b)
		if len(d.Diags) == before {
			valid(d, b)
		}
	}
	return f
}

// Unavailable says what to write if the argument depends on a call, in place of why a value is not available.
func (f Field) Unavailable(detail string) Field {
	return f.Wrap(func(d *Decoder, _ hclsyntax.Expression, read func()) {
		before := len(d.Diags)
		read()
		for _, x := range d.Diags[before:] {
			if x.Code == diag.Unavailable {
				x.Detail = detail
			}
		}
	})
}

// Page says that the argument is a URL that is shown to people, and no request.
func (f Field) Page() Field { f.page = true; return f }

// TypeDoc documents the type of an argument, where that of its value says too little.
func (f Field) TypeDoc(text string) Field { f.Type = text; return f }

// Require makes an argument or block mandatory.
func (f Field) Require() Field { f.Required = true; return f }

// AllowSecret allows secrets in the argument.
func (f Field) AllowSecret() Field { f.Secret = true; return f }

// Credentials says that the members of the argument are credentials, under whatever names.
func (f Field) Credentials() Field { f.Sent = true; return f }

// AllowFile allows an uploaded file in the argument, which receives its bytes.
func (f Field) AllowFile() Field { f.Files = true; return f }

// OmitAbsent leaves members that are absent out of the objects that are written in the argument.
func (f Field) OmitAbsent() Field { f.omitsAbsent = true; return f }

// KeepMembers keeps the members of an object that is written in the argument, each with its place, for the checks of an
// adapter.
func (f Field) KeepMembers() Field { f.keepsMembers = true; return f }

// InputsByDefault makes an Expr that is not written an object of the inputs under their own names, but for one input.
// Absent inputs are left out.
func (f Field) InputsByDefault(except string) Field {
	f.inputs = &inputsByDefault{except}
	return f
}

// FixedKeys requires that the keys of KeyValues are known at load.
func (f Field) FixedKeys() Field { f.Fixed = true; return f }

// DefaultDoc documents the default of an argument.
func (f Field) DefaultDoc(text string) Field { f.Default = text; return f }

// isDefault reports whether an expression is a constant that the documentation names as the default.
func (f *Field) isDefault(e hclsyntax.Expression) bool {
	if f.Default == "" || len(e.Variables()) > 0 {
		return false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || !v.IsWhollyKnown() || v.IsNull() {
		return false
	}
	text := constantDoc(v)
	return text == f.Default || text == `"`+f.Default+`"`
}

// constantDoc returns a constant as the documentation of a default has it; empty for one that it does not have.
func constantDoc(v cty.Value) string {
	switch {
	case v.IsNull():
	case v.Type() == cty.String:
		return strconv.Quote(v.AsString())
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	case v.Type() == cty.Bool:
		return strconv.FormatBool(v.True())
	case v.Type().IsTupleType():
		var elements []string
		for _, element := range v.AsValueSlice() {
			elements = append(elements, constantDoc(element))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return ""
}

// RenamedFrom declares a former name of the argument. The diagnostic for that name gives the
// current one.
func (f Field) RenamedFrom(name string) Field { f.formerly = name; return f }

// Hint declares names that authors write instead of the name of the field, and what is said of them.
func (f Field) Hint(text string, instead ...string) Field {
	f.hint, f.instead = text, instead
	return f
}

// ExactlyOneOf declares that exactly one of the arguments must be set; what describes the choice in
// a message.
func ExactlyOneOf(what string, fields ...Field) Spec { return grouped(&group{what, true}, fields) }

// AtMostOneOf declares that at most one of the arguments may be set.
func AtMostOneOf(what string, fields ...Field) Spec { return grouped(&group{what, false}, fields) }

func grouped(g *group, fields Spec) Spec {
	for i := range fields {
		fields[i].group = g
	}
	return fields
}

// Join concatenates the parts of a Spec.
func Join(parts ...Spec) Spec { return slices.Concat(parts...) }

// Nested returns the Spec of a nested block, for the reference.
func (f Field) Nested() Spec {
	if f.NestedSpec == nil {
		return nil
	}
	return f.NestedSpec()
}

// Choice returns the description of the argument's group and whether one of the group is required;
// "" for no group.
func (f Field) Choice() (what string, must bool) {
	if f.group == nil {
		return "", false
	}
	return f.group.what, f.group.required
}

// typeNames are the names of the types of Value in the reference.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[string]():                "string",
	reflect.TypeFor[bool]():                  "bool",
	reflect.TypeFor[*bool]():                 "bool",
	reflect.TypeFor[int]():                   "integer",
	reflect.TypeFor[float64]():               "number",
	reflect.TypeFor[*float64]():              "number",
	reflect.TypeFor[[]string]():              "list of strings",
	reflect.TypeFor[[]int]():                 "list of integers",
	reflect.TypeFor[Statuses]():              "list of integers and strings",
	reflect.TypeFor[time.Duration]():         "duration",
	reflect.TypeFor[Size]():                  "size",
	reflect.TypeFor[SecretText]():            "string, secret allowed",
	reflect.TypeFor[SecretTexts]():           "map of strings, secrets allowed",
	reflect.TypeFor[*schema.Type]():          "type",
	reflect.TypeFor[*hclexpr.Expr]():         "value",
	reflect.TypeFor[*hclexpr.StringExpr]():   "template",
	reflect.TypeFor[*hclexpr.TextTemplate](): "template",
	reflect.TypeFor[*hclexpr.KeyValues]():    "map of values",
	reflect.TypeFor[*hclexpr.SQL]():          "SQL",
	reflect.TypeFor[*hclexpr.Script]():       "shell script",
	reflect.TypeFor[*hclexpr.Argv]():         "list of words",
	reflect.TypeFor[*hclexpr.Pipe]():         "list of commands",
	reflect.TypeFor[*hclexpr.RequestURL]():   "URL",
	reflect.TypeFor[*hclexpr.Condition]():    "expr, true or false",
	reflect.TypeFor[*hclexpr.Program]():      "expr",
}

func (f Field) argument() hclexpr.Argument {
	return hclexpr.Argument{Name: f.Name, TakesFiles: f.Files, FixedKeys: f.Fixed}
}
