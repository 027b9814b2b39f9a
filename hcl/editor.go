package hcl

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// forEditor returns a loader that knows all declarations of this one and holds no syntax.
func (l *loader) forEditor() *loader {
	kept := *l
	kept.blocks, kept.diags, kept.tools = nil, nil, make(map[string]*toolDecoder, len(l.tools))
	for name, t := range l.tools {
		kept.tools[name] = &toolDecoder{tool: t.tool}
	}
	return &kept
}

// decodeAgain implements Config.DecodeAgain.
func (l *loader) decodeAgain(b *hclsyntax.Block, src []byte, o decode.Observer) Diagnostics {
	kind, _, ok := findBlockType(b.Type)
	if !ok || kind.decode == nil || len(b.Labels) != kind.labels {
		return nil
	}
	again := l.copyFor(o)
	file := &sourceFile{name: b.TypeRange.Filename, src: src, exposed: 1, cached: make([]*decodedBlock, 1)}
	block := sourceBlock{Block: b, file: file}
	again.blocks = map[string][]sourceBlock{b.Type: {block}}
	if kind.again != nil {
		return kind.again(again, block)
	}
	kind.decode(again)
	return again.diags
}

func (l *loader) decodeToolAgain(b sourceBlock) Diagnostics {
	t := l.declareTool(b)
	l.tools[t.tool.Name] = t
	t.decode()
	return t.dec.Diags
}

func (l *loader) decodePromptAgain(b sourceBlock) Diagnostics {
	return newPromptDecoder(l, b).decode().dec.Diags
}

func (l *loader) decodeResourceAgain(b sourceBlock) Diagnostics {
	return newResourceDecoder(l, b).decode().dec.Diags
}

func (l *loader) decodeSkillAgain(b sourceBlock) Diagnostics {
	return newSkillDecoder(l, b).decode().dec.Diags
}

func (l *loader) decodeLocalsAgain(b sourceBlock) Diagnostics {
	d := l.newDecoder(b.file)
	d.Deps = &eval.Dependencies{}
	for _, a := range sortedAttributes(b.Body.Attributes) {
		d.CompileKnown(a.Expr, decode.Field{Secret: true})
	}
	return d.Diags
}

func (l *loader) decodeTypeAgain(b sourceBlock) Diagnostics {
	d := l.newDecoder(b.file)
	d.Deps = &eval.Dependencies{}
	d.Body(b.Block, typeSpec(new(*schema.Type)))
	return d.Diags
}

// copyFor returns a copy of the loader, which can decode a block for an observer without changing the loader.
func (l *loader) copyFor(o decode.Observer) *loader {
	again, g, config := *l, *l.globals, *l.config
	g.variables, g.secrets, g.local = maps.Clone(g.variables), maps.Clone(g.secrets), maps.Clone(g.local)
	g.connections = slices.Clone(g.connections)
	again.globals, again.config, again.tools = &g, &config, maps.Clone(l.tools)
	again.used, again.notified, again.declared = map[*Connection]bool{}, map[string]bool{}, map[string]Range{}
	again.partial, again.env.Partial = false, false
	again.again, again.env.TrustDeclared = true, true
	again.config.Observers = nil
	again.opts.observe = func(string) decode.Observer { return o }
	return &again
}
