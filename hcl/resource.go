package hcl

import (
	"slices"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/uritemplate"
	"hatchel/internal/lazyregexp"
)

// Resource is one resource block: one document, or with a Template a family of documents whose
// variables are inputs.
type Resource struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Meta        []byte // of its entry in lists, an object as encoded JSON; nil for none
	Listed      bool
	URI         string                // empty for a template
	Template    *uritemplate.Template // nil for a single document
	MimeType    string                // empty if it depends on the content: see MediaType
	Size        int                   // in bytes; 0 if unknown
	Annotations *Annotations
	Format      string        // of a value that is sent as text: "" for JSON, "csv" or "markdown"
	Text        *TextTemplate // exactly one of Text, Data and Body is set
	Data        *Expr         // bytes, or a base64 string
	// the output of the backend if neither is set: a text, bytes, or a value that is sent as JSON
	Body           *Expr
	CallerSpecific bool // it may read differently for another caller who may read it
	// polling interval for subscribers; 0 for notifications on file changes only
	Refresh   time.Duration
	CacheHint *CacheHint // nil for none
	Error     *TextTemplate
}

// minRefresh is the minimum polling interval.
const minRefresh = 100 * time.Millisecond

// resourceDecoder decodes a resource block.
type resourceDecoder struct {
	*operationDecoder
	resource *Resource
	template string   // as it is written
	formats  []string // at most one
	constant bool     // the content is known at load
}

func newResourceDecoder(l *loader, b sourceBlock) *resourceDecoder {
	r := &resourceDecoder{resource: &Resource{Listed: true}}
	r.operationDecoder = newOperationDecoder(l, b, "resource", &r.resource.Operation)
	r.result = r.resource
	r.inputs.texts = &textInputs{"a variable of a URI", false}
	return r
}

// decodeResources decodes the resource blocks. The tools are complete by now.
func (l *loader) decodeResources() {
	l.decodeOperations("resource", func(b sourceBlock) *operationDecoder { return newResourceDecoder(l, b).decode() })
}

// resourceSpec is the spec of a resource block without its backend, in the order of the reference.
func resourceSpec(r *resourceDecoder) decode.Spec {
	return decode.Join(r.headSpec(), r.bodySpec(), r.dataSpec(), errorSpec(&r.resource.Error, "a failure"))
}

func (r *resourceDecoder) headSpec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the URI",
			decode.Attr(&r.resource.URI, "uri", "The URI, as in \"config://app\".").Check(r.checkURI),
			decode.Attr(&r.template, "uri_template", "The URI template of a family of documents, as in "+
				"\"orders://{id}{?page}\". Each variable is read as input.<name>. {x} matches no slash, {+x} may, "+
				"and {/x}, {?x,y} and {&x} are optional.").Check(r.decodeTemplate)),
		decode.Spec{
			decode.Attr(&r.resource.Title, "title", "The display name."),
			decode.Attr(&r.resource.Description, "description", "The content of the resource, for models and users."),
			decode.Attr(&r.resource.MimeType, "mime_type", "The media type. By default text/plain for a text, "+
				"application/json for a value, and derived from the file name extension for a file."),
			decode.PositiveInt(&r.resource.Size, "size",
				"The size in bytes, if it is known. For a constant text or data it is computed."),
			decode.Attr(&r.resource.Listed, "listed",
				"Whether the resource appears in the list. It can be read in any case.").DefaultDoc("true"),
			r.enabledField(),
			r.requiresField(),
			r.timeoutField("The timeout for reading."),
			decode.Attr(&r.resource.Refresh, "refresh", "How often the resource is polled for its subscribers. By "+
				"default they are notified of a reload and of a changed file only."),
			decode.Block(&r.resource.CacheHint, "cache", "How long clients may cache the resource.", (*CacheHint).spec),
			annotationsField(&r.resource.Annotations),
			iconsField(&r.resource.Icons, "Icons of the resource."),
			metaField(&r.resource.Meta, "the resource"),
			decode.Blocks("input", "name", "Describes a variable of uri_template: its type, meaning and completion.",
				argumentSpec, r.inputs.decodeInput),
		},
	)
}

func (r *resourceDecoder) dataSpec() decode.Spec {
	return decode.AtMostOneOf("the content of the resource",
		formatField(&r.formats, false),
		decode.Attr(&r.resource.Text, "text", "The content as text."),
		decode.Attr(&r.resource.Data, "data",
			"The content as bytes: filebase64(…), output.content with as = \"bytes\", or a base64 string."))
}

func (r *resourceDecoder) decode() *operationDecoder {
	d, b := r.dec, r.block
	r.decodeName()
	head, body, hold, failure := r.headSpec(), r.bodySpec(), r.dataSpec(), errorSpec(&r.resource.Error, "a failure")
	d.CheckNames(b.Block, head, body, hold, failure, r.loader.blockSpecs.operation)
	d.Fields(b.Block, head)
	r.matchVariables()
	r.inputs.buildInputType()
	d.Scope = r.scope()
	d.Fields(b.Block, body)
	d.Deps.Caller = false // access rules do not make the document depend on the caller
	r.decodeSteps()
	d.Fields(b.Block, hold)
	r.decodeBody()
	r.decodeErrorText(failure)
	r.requireReadOnly("A resource can be read at any time")
	r.checkCache()
	r.checkRefresh()
	r.decodeCompletions()
	r.warnUnusedInputs()
	r.requireWhole()
	r.resource.CallerSpecific = r.deps.callerSpecific() || len(r.calls) > 0
	r.resource.Digest = r.digest()
	r.digestCalls()
	return r.operationDecoder
}

// checkRefresh checks the polling of the resource.
func (r *resourceDecoder) checkRefresh() {
	res, d := r.resource, r.dec
	if res.Refresh > 0 && res.Refresh < minRefresh {
		d.Diags.Errorf(r.attrRange("refresh"), "Invalid duration",
			"A resource can be polled every %s at most, not every %s.", minRefresh, res.Refresh)
	}
	if res.Refresh > 0 && len(res.Steps) == 0 && r.constant {
		d.Diags.Errorf(r.attrRange("refresh"), "Nothing to refresh",
			"This resource is constant: it changes only with the configuration, and subscribers are notified then.")
	}
	for _, s := range res.Steps {
		if s.Backend.Kind == "ask" && res.Refresh > 0 {
			d.Diags.Errorf(r.attrRange("refresh"), "No client to ask",
				"The step %q asks a client, but a refresh has no client. Remove refresh or the question.", s.Name)
		}
	}
}

// CacheHint is the cache block of a resource: how long clients may cache it.
type CacheHint struct {
	TTL    time.Duration
	Public bool
}

func (c *CacheHint) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.TTL, "ttl", "How long a client may cache the resource.").Require(),
		decode.BoolChoice(&c.Public, "scope", `"private" allows caching for one caller, "public" for all callers.`,
			"private", "public").DefaultDoc("private"),
	}
}

// checkCache rejects a public cache of a resource with access rules.
func (r *resourceDecoder) checkCache() {
	hint := r.resource.CacheHint
	if hint != nil && hint.Public && (r.resource.Allow != nil || len(r.resource.Scopes) > 0) {
		r.dec.Diags.Errorf(r.blockRange("cache"), "Contradictory cache scope", "scope = \"public\" shares content "+
			"between callers, but `allow` or `scopes` restricts who may read it. Write scope = \"private\".")
	} else if name := r.deps.masksByCaller(); hint != nil && hint.Public && name != "" {
		r.dec.Diags.Errorf(r.blockRange("cache"), "Contradictory cache scope", "scope = \"public\" shares content "+
			"between callers, but mask %q shows some of them more than others. Write scope = \"private\".", name)
	}
}

// checkURI reports an invalid URI.
func (r *resourceDecoder) checkURI(d *decode.Decoder, at Range) {
	if r.resource.URI == "" {
		d.Diags.Errorf(at, "Invalid URI", "It is empty: write a URI such as \"config://app\".")
	} else if err := uritemplate.CheckURI(r.resource.URI); err != nil {
		d.Diags.Errorf(at, "Invalid URI", "%s.", diag.ToSentence(err.Error()))
	}
}

// decodeTemplate reads the URI template.
func (r *resourceDecoder) decodeTemplate(d *decode.Decoder, at Range) {
	t, err := uritemplate.Parse(r.template)
	if err == nil && !uritemplate.HasScheme(t.Prefix()) {
		err = uritemplate.MissingScheme(r.template)
	}
	switch {
	case r.template == "":
		d.Diags.Errorf(at, "Invalid URI template", "It is empty: write a template such as \"orders://{id}\".")
	case err != nil:
		d.Diags.Errorf(at, "Invalid URI template", "%s.", diag.ToSentence(err.Error()))
	case len(t.Variables()) == 0:
		d.Diags.Errorf(at, "Template without variables", "A URI template needs a variable, as in \"orders://{id}\". "+
			"For a single document write uri = %q.", r.template)
	default:
		r.resource.Template = t
	}
}

// matchVariables matches the variables of the template with the input blocks, which must
// correspond.
func (r *resourceDecoder) matchVariables() {
	t := r.resource.Template
	if t == nil {
		r.inputs.partial = r.resource.URI == "" // the variables are unknown
		for _, m := range r.inputs.members {
			if r.resource.URI != "" {
				r.dec.Errorf(m.Range, "Input is not a variable",
					"This resource has one URI without variables. For a family of documents write "+
						"uri_template = \"%s/{%s}\".", strings.TrimSuffix(r.resource.URI, "/"), m.Name)
			}
		}
		return
	}
	names := make([]string, len(t.Variables()))
	declared := map[string]*schema.Member{}
	for _, m := range r.inputs.members {
		declared[m.Name] = m
	}
	r.noteVariables()
	for i, v := range t.Variables() {
		names[i] = v.Name
		if declared[v.Name] == nil {
			r.inputs.members = append(r.inputs.members, &schema.Member{Name: v.Name, Type: eval.StringType,
				Optional: v.Optional})
			r.inputs.labelRanges[v.Name] = r.attrRange("uri_template")
			continue
		}
		r.setOptional(declared[v.Name], v)
	}
	for _, m := range r.inputs.members {
		if !slices.Contains(names, m.Name) {
			r.dec.Errorf(m.Range, "Input is not a variable", "uri_template has no variable %q.%s", m.Name,
				diag.SuggestOr(m.Name, names, diag.ListAre(names)))
		}
	}
}

var (
	templateExpression = lazyregexp.New(`\{[^{}]*\}`)
	variableName       = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*`)
)

// noteVariables tells the observer of the variables of the template, which are inputs.
func (r *resourceDecoder) noteVariables() {
	at := r.attrRange("uri_template")
	if r.dec.Observer == nil || at == r.op.Range {
		return
	}
	source := r.block.file.src[at.Start.Byte:at.End.Byte]
	for _, e := range templateExpression.FindAllIndex(source, -1) {
		for _, v := range variableName.FindAllIndex(source[e[0]:e[1]], -1) {
			read := eval.Reference{At: at, Kind: "input", Name: string(source[e[0]+v[0] : e[0]+v[1]]), Local: true}
			read.At.Start.Byte, read.At.End.Byte = at.Start.Byte+e[0]+v[0], at.Start.Byte+e[0]+v[1]
			r.dec.NoteReference(read)
		}
	}
}

// setOptional makes an input optional if its variable may be missing from a URI, and reports an
// optional input whose variable is always present.
func (r *resourceDecoder) setOptional(m *schema.Member, v uritemplate.Variable) {
	if v.Optional {
		m.Optional = true
		return
	}
	if m.Optional {
		r.dec.Errorf(m.Range, "Variable is required", "Every URI of this template contains {%s}, so the input is "+
			"always present: remove optional and the default.", v.Name)
	}
}

// claimURI registers the URI of a resource, or the form of its template, and reports duplicates.
func (l *loader) claimURI(r *Resource) bool {
	key, what := r.URI, r.URI
	if r.Template != nil {
		key, what = r.Template.Form(), r.Template.Raw()
	}
	if key == "" {
		return true // the mistake was reported
	}
	if first, twice := l.declared["URI "+key]; twice {
		l.diags.Errorf(r.Range, "Duplicate URI", "The resource at %s:%d already has the URIs of %s.", first.File,
			first.Start.Line, what)
		l.diags.Relate(first)
		return false
	}
	l.declared["URI "+key] = r.Range
	return true
}
