package hcl

import (
	"sort"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/uritemplate"
)

// Resource is one resource block: one document, or with a Template a family of documents whose
// variables are inputs.
type Resource struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	URI         string                // empty for a template
	Template    *uritemplate.Template // nil for a single document
	MimeType    string                // empty if it depends on the content: see MediaType
	Size        int                   // in bytes; 0 if unknown
	Annotations *Annotations
	Text        *TextTemplate // exactly one of Text, Data and Body is set
	Data        *Expr         // bytes, or a base64 string
	// the output of the backend if neither is set: a text, bytes, or a value that is sent as JSON
	Body *Expr
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
	template string // as it is written
	cache    *cacheBlock
	constant bool // the content is known at load
}

func newResourceDecoder(l *loader, b sourceBlock) *resourceDecoder {
	r := &resourceDecoder{resource: &Resource{Listed: true}}
	r.operationDecoder = newOperationDecoder(l, b, "resource", &r.resource.Operation)
	r.inputs.texts = &textInputs{"a variable of a URI", false}
	return r
}

// decodeResources decodes the resource blocks. The tools are complete by now.
func (l *loader) decodeResources() {
	blocks := l.blocks["resource"]
	decls := make([]*resourceDecoder, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := cachedOperation(blocks[i]); w != nil {
			decls[i] = &resourceDecoder{resource: w.cached.result.(*Resource), operationDecoder: w}
			return
		}
		decls[i] = newResourceDecoder(l, blocks[i])
		decls[i].decode()
		decls[i].dropBody()
	})
	for _, r := range decls {
		l.commit(r.operationDecoder, r.resource)
		l.diags = append(l.diags, r.checkCalledToolsAsk()...)
		if l.declare("resource", r.resource.Name, r.block) && r.enabled && l.claimURI(r.resource) {
			l.config.Resources = append(l.config.Resources, r.resource)
		}
	}
	sort.Slice(l.config.Resources, func(i,
		j int) bool {
		return l.config.Resources[i].Name < l.config.Resources[j].Name
	})
}

// resourceSpec is the spec of a resource block without its backend, in the order of the reference.
func resourceSpec(r *resourceDecoder) decode.Spec {
	return decode.Join(r.headSpec(), r.bodySpec(), r.dataSpec(), errorSpec(&r.resource.Error, "a failure"))
}

func (r *resourceDecoder) headSpec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the URI",
			decode.Attr(&r.resource.URI, "uri", "The URI, as in \"config://app\"."),
			decode.Attr(&r.template, "uri_template",
				"The URI template of a family of documents, as in \"orders://{id}{?page}\". Each variable is read as "+
					"input.<name>. {x} matches no slash, {+x} may, and {/x}, {?x,y} and {&x} are optional.")),
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
			decode.Block(&r.cache, "cache", "How long clients may cache the resource.", (*cacheBlock).spec),
			annotationsField(&r.resource.Annotations),
			iconsField(&r.resource.Icons, "Icons of the resource."),
			decode.Blocks("input", "name", "Describes a variable of uri_template: its type, meaning and completion.",
				argumentSpec, r.inputs.decodeInput),
		},
	)
}

func (r *resourceDecoder) dataSpec() decode.Spec {
	return decode.AtMostOneOf("the content of the resource",
		decode.Attr(&r.resource.Text, "text", "The content as text."),
		decode.Attr(&r.resource.Data, "data",
			"The content as bytes: filebase64(…), output.content with as = \"bytes\", or a base64 string."))
}

func (r *resourceDecoder) decode() {
	d, b := r.dec, r.block
	r.checkName()
	head, body, hold, failure := r.headSpec(), r.bodySpec(), r.dataSpec(), errorSpec(&r.resource.Error, "a failure")
	d.CheckNames(b.Block, head, body, hold, failure, r.loader.blockSpecs.operation)
	d.Fields(b.Block, head)
	r.decodeURI()
	r.inputs.buildInputType()
	d.Scope = r.scope()
	d.Fields(b.Block, body)
	r.decodeSteps()
	d.Fields(b.Block, hold)
	r.decodeBody()
	r.decodeErrorText(failure)
	r.requireReadOnly("A resource can be read at any time")
	r.decodeCache()
	r.checkRefresh()
	r.decodeCompletions()
	r.warnUnusedInputs()
	r.resource.Digest = r.digest()
	r.digestCalls()
}

// checkRefresh checks the polling of the resource.
func (r *resourceDecoder) checkRefresh() {
	res, d := r.resource, r.dec
	if res.Refresh > 0 && res.Refresh < minRefresh {
		d.Errorf(r.attrRange("refresh"), "Invalid duration",
			"A resource can be polled every %s at most, not every %s.", minRefresh, res.Refresh)
	}
	if res.Refresh > 0 && len(res.Steps) == 0 && r.constant {
		d.Errorf(r.attrRange("refresh"), "Nothing to refresh",
			"This resource is constant: it changes only with the configuration, and subscribers are notified then.")
	}
	for _, s := range res.Steps {
		if s.Backend.Kind == "ask" && res.Refresh > 0 {
			d.Errorf(r.attrRange("refresh"), "No client to ask",
				"The step %q asks a client, but a refresh has no client. Remove refresh or the question.", s.Name)
		}
	}
}

// CacheHint tells clients how long they may cache a resource.
type CacheHint struct {
	TTL     time.Duration
	Private bool
}

// cacheBlock is the cache block of a resource being decoded.
type cacheBlock struct {
	TTL   time.Duration
	Scope string
}

func (c *cacheBlock) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.TTL, "ttl", "How long a client may cache the resource.").Require(),
		decode.Choice(&c.Scope, "scope", `"private" allows caching for one caller, "public" for all callers.`,
			"private", "public").DefaultDoc("private"),
	}
}

// decodeCache decodes the cache block. A resource with access rules must not have a public cache.
func (r *resourceDecoder) decodeCache() {
	if r.cache == nil {
		return
	}
	r.resource.CacheHint = &CacheHint{TTL: r.cache.TTL, Private: r.cache.Scope != "public"}
	if r.cache.Scope == "public" && (r.resource.Allow != nil || len(r.resource.Scopes) > 0) {
		r.dec.Errorf(r.blockRange("cache"), "Contradictory cache scope", "scope = \"public\" shares content between "+
			"callers, but `allow` or `scopes` restricts who may read it. Write scope = \"private\".")
	}
}
