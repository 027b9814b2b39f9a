package hcl

import (
	"sort"
	"time"
)

// Resource is one resource block: one document, or with a Template a family of them, whose variables are inputs.
type Resource struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	URI         string       // empty for a template
	Template    *URITemplate // nil for one document
	MimeType    string       // empty when it depends on what is read: see MediaType
	Size        int          // in bytes, 0 when unknown
	Annotations *Annotations
	Text        *Message      // one of Text, Data and Body is set
	Data        *Expr         // bytes, or a text in base64
	Body        *Expr         // what the backend gives, where neither is written: a text, bytes, or a value that is sent as JSON
	Refresh     time.Duration // how often it is read again for those who follow it; 0 when it changes only with its file
	Caching     *Caching      // nil says nothing
	Error       *Message
}

// minRefresh is how often a resource is read again at most.
const minRefresh = 100 * time.Millisecond

// A resourceDecl is a resource being decoded.
type resourceDecl struct {
	*workDecl
	resource *Resource
	template string // as it is written
	cache    *cacheBlock
	constant bool // what it holds is known at load
}

func newResourceDecl(l *loader, b block) *resourceDecl {
	r := &resourceDecl{resource: &Resource{Listed: true}}
	r.workDecl = newWorkDecl(l, b, "resource", &r.resource.Work)
	r.inputs.texts = &texts{"a variable of a URI", false}
	return r
}

// resources decodes the resource blocks. The tools are complete by now.
func (l *loader) resources(tools map[string]*toolDecl) {
	blocks := l.blocks["resource"]
	decls := make([]*resourceDecl, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := keptWork(blocks[i]); w != nil {
			decls[i] = &resourceDecl{resource: w.kept.made.(*Resource), workDecl: w}
			return
		}
		decls[i] = newResourceDecl(l, blocks[i])
		decls[i].dec.tools = tools
		decls[i].decode()
		decls[i].shed()
	})
	for _, r := range decls {
		l.accept(r.workDecl, r.resource, tools)
		l.diags = append(l.diags, r.askers()...)
		if l.claim("resource", r.resource.Name, r.block) && r.enabled && l.addressed(r.resource) {
			l.config.Resources = append(l.config.Resources, r.resource)
		}
	}
	sort.Slice(l.config.Resources, func(i, j int) bool { return l.config.Resources[i].Name < l.config.Resources[j].Name })
}

// resourceSpec is everything a resource block may hold except its backend, in the order of the reference.
func resourceSpec(r *resourceDecl) Spec {
	return Join(r.headSpec(), r.bodySpec(), r.holdSpec(), errorSpec(&r.resource.Error, "a failure"))
}

func (r *resourceDecl) headSpec() Spec {
	return Join(
		Exactly("the URI",
			Attr(&r.resource.URI, "uri", "The URI, as in \"config://app\"."),
			Attr(&r.template, "uri_template", "The URIs of a family, as in \"orders://{id}{?page}\": each variable is read as input.<name>. {x} holds no slash, {+x} may, and {/x}, {?x,y} and {&x} may be missing.")),
		Spec{
			Attr(&r.resource.Title, "title", "The name as a person reads it."),
			Attr(&r.resource.Description, "description", "What the resource holds."),
			Attr(&r.resource.MimeType, "mime_type", "The media type. Without it text/plain for a text, application/json for a value, and what the end of its name says for a file."),
			positive(&r.resource.Size, "size", "How many bytes it holds, where that is known. A constant text or data says so itself."),
			Attr(&r.resource.Listed, "listed", "Whether clients see the resource in the list. It can be read in any case.").Or("true"),
			r.enabledField(),
			r.requiresField(),
			r.timeoutField("How long reading may take."),
			Attr(&r.resource.Refresh, "refresh", "How often it is read again for those who follow it. Without it they are told of a new configuration and of a changed file."),
			Block(&r.cache, "cache", "How long clients may keep what they read.", (*cacheBlock).spec),
			annotationsField(&r.resource.Annotations),
			icons(&r.resource.Icons, "Pictures of the resource, for clients that show some."),
			labelled("input", "name", "Says more of a variable of uri_template: its type, what it means, how it is completed.", argumentSpec, r.inputs.input),
		},
	)
}

func (r *resourceDecl) holdSpec() Spec {
	return AtMost("what the resource holds",
		Attr(&r.resource.Text, "text", "The text that is read."),
		Attr(&r.resource.Data, "data", "The bytes that are read: filebase64(…), output.content of as = \"bytes\", or a text in base64."))
}

func (r *resourceDecl) decode() {
	d, b := r.dec, r.block
	r.named()
	head, body, hold, failure := r.headSpec(), r.bodySpec(), r.holdSpec(), errorSpec(&r.resource.Error, "a failure")
	d.unknown(b.Body, head, body, hold, failure, d.shared.standing.work)
	d.fields(b.Body, head, b.DefRange())
	r.timed()
	r.address()
	r.inputs.finish()
	d.scope = r.scope()
	d.fields(b.Body, body, b.DefRange())
	d.facts = d.facts.and(r.resource.Allow)
	r.does()
	d.fields(b.Body, hold, b.DefRange())
	r.held()
	r.failing(failure)
	r.onlyReads("A resource is read by whoever looks at it, as often as they like")
	r.caching()
	r.followed()
	r.completions()
	r.unusedInputs()
	r.resource.Digest = r.digest()
	r.digestCalls()
}

// followed checks what those are told who follow the resource.
func (r *resourceDecl) followed() {
	res, d := r.resource, r.dec
	if res.Refresh > 0 && res.Refresh < minRefresh {
		d.errorf(r.attrRange("refresh"), "Invalid duration", "A resource is read again every %s at most, and this is %s.", minRefresh, res.Refresh)
	}
	if res.Refresh > 0 && len(res.Steps) == 0 && r.constant {
		d.errorf(r.attrRange("refresh"), "Nothing to refresh", "This resource holds a constant: what it holds changes with the configuration alone, and those who follow it are told then.")
	}
	for _, s := range res.Steps {
		if s.Backend.Kind == "ask" && res.Refresh > 0 {
			d.errorf(r.attrRange("refresh"), "Nobody to ask", "The step %q asks a client, and there is none when a resource is read again by itself. Drop refresh, or the question.", s.Name)
		}
	}
}
