package crowd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// caller is a client over either transport.
type caller interface {
	do(q request) (*reply, error)
	speaks() era
}

func (c *client) speaks() era { return c.era }

// everything is what a client declares that can do all.
const everything = `{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// capable are the capabilities that clients declare: most declare everything.
func capable() string {
	return []string{everything, everything, everything, nothing, `{"elicitation":{}}`, `{"sampling":{}}`}[rand.IntN(6)]
}

// visitor is a client that uses what it finds, in no order.
type visitor struct {
	caller
	s         *soak
	can       string
	over      *client // nil over pipes
	tools     []offered
	prompts   []offered
	resources []offered
	templates []offered
}

// offered is an entry of a list.
type offered struct {
	Name, URI, URITemplate string
	InputSchema            schema
	Arguments              []struct {
		Name     string
		Required bool
	}
}

// visit is one visit over HTTP. One visitor in four goes in the middle of a call.
func (s *soak) visit(ctx context.Context, e era) error {
	can, toolset := capable(), ""
	if rand.IntN(8) == 0 {
		toolset = "office"
	}
	c, err := dial(ctx, s.host, toolset, e, can)
	if err != nil {
		return err
	}
	defer c.close()
	c.asked = s.answerAsMember
	v := &visitor{caller: c, s: s, can: can}
	v.over = c
	err = v.use(ctx, 30)
	switch {
	case errors.Is(err, errAbandoned):
		s.tally.add("went away while it was asked")
		s.desert(c)
		return nil
	case err != nil || len(v.tools) == 0:
		return err
	case rand.IntN(4) == 0:
		return v.vanish(c)
	}
	return c.leave(c)
}

// vanish goes away in the middle of a call. In the legacy era, where that does not end the call, it may say that it has lost interest.
func (v *visitor) vanish(c *client) error {
	t := v.tools[rand.IntN(len(v.tools))]
	q := t.asRequest(t.InputSchema.object(t.InputSchema))
	if _, err := io.WriteString(c.net, c.raw(c.message(q, `"last"`), q)); err != nil {
		return err
	}
	v.s.tally.add("went away in the middle of a call")
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
	c.close()
	v.s.desert(c)
	if c.era == modern || rand.IntN(2) == 0 {
		return nil
	}
	if err := c.connect(context.Background()); err != nil {
		return err
	}
	return c.notify("notifications/cancelled", `"requestId":"last"`)
}

// use looks around, and then does as many things as it is told.
func (v *visitor) use(ctx context.Context, things int) error {
	for _, l := range []struct {
		method, member string
		into           *[]offered
	}{{"tools/list", "tools", &v.tools}, {"prompts/list", "prompts", &v.prompts}, {"resources/list", "resources", &v.resources}, {"resources/templates/list", "resourceTemplates", &v.templates}} {
		if err := v.list(l.method, l.member, l.into); err != nil {
			return err
		}
	}
	for i := 0; i < things && ctx.Err() == nil; i++ {
		var err error
		switch n := rand.IntN(20); {
		case n < 10 && len(v.tools) > 0:
			err = v.call(ctx, v.tools[rand.IntN(len(v.tools))])
		case n < 13 && len(v.prompts) > 0:
			err = v.prompt(ctx, v.prompts[rand.IntN(len(v.prompts))])
		case n < 16:
			err = v.read(ctx)
		case n < 18:
			err = v.complete()
		default:
			err = v.wander()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads a list through all its pages.
func (v *visitor) list(method, member string, into *[]offered) error {
	for cursor := ""; ; {
		r, err := v.ask(request{method: method, params: cursor})
		if err != nil || r.Failure != nil {
			return err
		}
		var page map[string]json.RawMessage
		var entries []offered
		if err := json.Unmarshal(r.Result, &page); err != nil {
			return err
		}
		if err := json.Unmarshal(page[member], &entries); err != nil {
			return fmt.Errorf("%s: %w in %.300s", method, err, r.Result)
		}
		*into = append(*into, entries...)
		if page["nextCursor"] == nil {
			return nil
		}
		cursor = `"cursor":` + string(page["nextCursor"])
	}
}

// tolerable are the errors of the protocol that a client brings upon itself here, or that a configuration that has just changed does.
var tolerable = []int{
	-32602, // names that are gone, arguments that are made up, states that are not sealed
	-32002, // documents that do not exist, in the legacy era
	-32021, // a capability that was not declared
}

// ask sends a request and counts what came of it. An error that should not be is a fault.
func (v *visitor) ask(q request) (*reply, error) {
	r, err := v.do(q)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s, %s", v.speaks(), q.method)
	switch {
	case r.status >= 500:
		v.s.faults.add(fmt.Sprintf("%d to %s", r.status, q.method), "%s: %v %s", q.name, r.Failure, q.params)
	case r.Failure != nil && !slices.Contains(tolerable, r.Failure.Code):
		v.s.faults.add(fmt.Sprintf("%d to %s %s", r.Failure.Code, q.method, q.name), "%s: %s", r.Failure.Message, q.params)
	case r.Failure != nil:
		what += ": refused"
	}
	v.s.tally.add(what)
	return r, nil
}

func (v *visitor) call(ctx context.Context, t offered) error {
	arguments := t.InputSchema.object(t.InputSchema)
	return v.converse(ctx, t.asRequest(arguments))
}

func (t offered) asRequest(arguments map[string]any) request {
	return request{method: "tools/call", name: t.Name, params: fmt.Sprintf(`"name":%q,"arguments":%s`, t.Name, encoded(arguments)),
		headers: t.InputSchema.headers(arguments), talk: rand.IntN(2) == 0}
}

func (v *visitor) prompt(ctx context.Context, p offered) error {
	arguments := make(map[string]string)
	for _, a := range p.Arguments {
		if a.Required || rand.IntN(2) == 0 {
			arguments[a.Name] = words[rand.IntN(len(words))]
		}
	}
	return v.converse(ctx, request{method: "prompts/get", name: p.Name, params: fmt.Sprintf(`"name":%q,"arguments":%s`, p.Name, encoded(arguments))})
}

func (v *visitor) read(ctx context.Context) error {
	uri := "nowhere://at/all"
	switch n := rand.IntN(5); {
	case n < 2 && len(v.templates) > 0:
		uri, _, _ = strings.Cut(v.templates[rand.IntN(len(v.templates))].URITemplate, "{")
		uri += fmt.Sprint(rand.IntN(pageCount))
	case n < 4 && len(v.resources) > 0:
		uri = v.resources[rand.IntN(len(v.resources))].URI
	}
	return v.converse(ctx, request{method: "resources/read", name: uri, params: fmt.Sprintf(`"uri":%q`, uri)})
}

func (v *visitor) complete() error {
	ref, argument := `{"type":"ref/prompt","name":"nobody"}`, "x"
	switch n := rand.IntN(3); {
	case n == 0 && len(v.prompts) > 0:
		p := v.prompts[rand.IntN(len(v.prompts))]
		ref = fmt.Sprintf(`{"type":"ref/prompt","name":%q}`, p.Name)
		if len(p.Arguments) > 0 {
			argument = p.Arguments[0].Name
		}
	case n == 1 && len(v.templates) > 0:
		t := v.templates[rand.IntN(len(v.templates))]
		ref = fmt.Sprintf(`{"type":"ref/resource","uri":%q}`, t.URITemplate)
		_, argument, _ = strings.Cut(t.URITemplate, "{")
		argument, _, _ = strings.Cut(argument, "}")
	}
	_, err := v.ask(request{method: "completion/complete", params: fmt.Sprintf(`"ref":%s,"argument":{"name":%q,"value":%s}`, ref, argument, encoded(words[rand.IntN(len(words))]))})
	return err
}

// wander does something small.
func (v *visitor) wander() error {
	var err error
	switch {
	case v.speaks() == modern && rand.IntN(2) == 0:
		_, err = v.ask(request{method: "server/discover"})
	case v.speaks() == modern:
		_, err = v.ask(request{method: "tasks/get", name: "0123456789abcdef0123456789abcdef", params: `"taskId":"0123456789abcdef0123456789abcdef"`})
	case rand.IntN(2) == 0:
		_, err = v.ask(request{method: "ping"})
	case rand.IntN(2) == 0 && len(v.resources) > 0:
		uri := v.resources[rand.IntN(len(v.resources))].URI
		for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
			if _, err := v.ask(request{method: method, name: uri, params: fmt.Sprintf(`"uri":%q`, uri)}); err != nil {
				return err
			}
		}
	default:
		_, err = v.ask(request{method: "logging/setLevel", params: `"level":"debug"`})
	}
	return err
}
