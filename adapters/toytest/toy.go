// Package toytest is a small backend for tests of the contract: a store of texts in the process. What tests of tools
// write in its place is declared here alone.
package toytest

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// Adapter returns the toy block, which reads and writes a store.
func Adapter(store *sync.Map) adapters.Adapter {
	bind := func(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
		return &action{b, store, env.Mocks}, nil
	}
	return adapters.New("toy", "Reads or writes a text.", (*block).spec, bind).WithMock(&mock.Kind{
		Doc:    "In a test: a text that is read or written, and what is stored.",
		Choice: "what is asked",
		Request: []mock.Argument{
			{Name: "read", Doc: "The key that is read, where * stands for any text.", Type: mock.Text},
			{Name: "write", Doc: "The key that is written.", Type: mock.Text},
		},
		Details: []mock.Argument{{Name: "text", Doc: "The text that is written.", Type: mock.Text, Lines: true}},
		Answers: []mock.Argument{
			{Name: "stored", Doc: "The text that is stored.", Type: mock.Text, Lines: true, Member: "stored"},
		},
		Besides: []mock.Argument{mock.Delay("How long the store takes.")},
		Taped:   mock.Taped(map[string]*schema.Type{"stored": mock.Text}),
		Naming:  []string{"read", "write"},
	})
}

type block struct{ Read, Write, Text *hcl.StringExpr }

func (b *block) spec() hcl.Spec {
	return hcl.Join(
		hcl.ExactlyOneOf("what to do", hcl.Attr(&b.Read, "read", "A key to read.").AllowSecret(),
			hcl.Attr(&b.Write, "write", "A key to write.")),
		hcl.Spec{hcl.Attr(&b.Text, "text", "The text to write.")},
	)
}

// Describe implements hcl.Describer.
func (b *block) Describe(*hcl.Connection) (hcl.Effects, error) {
	return hcl.Effects{
		Output:   schema.ObjectOf(&schema.Member{Name: "stored", Type: &schema.Type{Kind: schema.String}}),
		Default:  hcl.DefaultResult{Text: "stored"},
		ReadOnly: b.Read != nil, Writes: b.Read == nil,
	}, nil
}

type action struct {
	block *block
	store *sync.Map
	mocks adapters.Mocks
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (any, error) {
	asked := map[string]any{}
	texts := map[string]*hcl.StringExpr{"read": a.block.Read, "write": a.block.Write, "text": a.block.Text}
	for name, x := range texts {
		if x == nil {
			continue
		}
		text, err := x.Render(call.Frame)
		if err != nil {
			return nil, err
		}
		asked[name] = text
	}
	if a.mocks == nil {
		return a.ask(asked), nil
	}
	q := newQuestion(asked)
	reply, err := a.mocks.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case reply != nil:
		return map[string]any{"stored": reply.Text("stored")}, nil
	}
	out := a.ask(asked)
	a.mocks.Record(q, out)
	return out, nil
}

// ask asks the store.
func (a *action) ask(asked map[string]any) map[string]any {
	if key, ok := asked["write"]; ok {
		a.store.Store(key, asked["text"])
	}
	stored, _ := a.store.Load(asked["read"])
	text, _ := stored.(string)
	return map[string]any{"stored": text}
}

func newQuestion(asked map[string]any) *mock.Question {
	what, sent := "", map[string]any{}
	for name, v := range asked {
		sent[name] = v
		if name != "text" {
			what = name + " " + v.(string)
		}
	}
	return &mock.Question{
		Kind: "toy", Name: "to " + what, Sent: sent, ReadOnly: asked["write"] == nil,
		Match: func(c *mock.Matcher, m *mock.Mock, _ bool) {
			for _, name := range []string{"read", "write", "text"} {
				if want, ok := m.Request[name].(string); ok {
					got, _ := asked[name].(string)
					c.Part(name, c.LikeText(want, got), want, asked[name])
				}
			}
		},
		Taped:   func() map[string]any { return asked },
		Suggest: func() *mock.Mock { return &mock.Mock{Request: asked, Replies: []map[string]any{{"stored": ""}}} },
	}
}
