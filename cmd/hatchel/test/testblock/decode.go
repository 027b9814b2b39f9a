package testblock

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// block is a test block being decoded.
type block struct {
	cfg *hcl.Config
	src hcl.TestBlock
	d   *decode.Decoder

	each         *hclexpr.Expr
	tool, prompt string
	skip         string
	onlyLive     bool
	requires     []string
	timeout      time.Duration
	values       *arguments
	uri          *arguments
	caller       *arguments
	mocks        []*mockBlock
	answers      []*answerBlock
	after        []*afterBlock
	expects      []*expectBlock

	op        *hcl.Operation // that is tested; nil if it does not exist
	toolDecl  *hcl.Tool
	kind      string
	targeting diag.Range // of the name of what is tested
}

type answerBlock struct {
	key    string   // empty for an approval
	ask    *hcl.Ask // the question; nil for an approval, and if it is not known
	values *arguments
	at     diag.Range
}

type afterBlock struct {
	name, kind, connection string
	values                 *arguments
	at                     diag.Range
}

type expectBlock struct {
	values *arguments
	that   *hclexpr.Condition
	at     diag.Range
}

var testArguments = slices.Concat(
	of(mock.Map, "args", "The arguments of the call. A path stands for an uploaded file."),
	of(mock.Integer, "page", "The page that is expected of a tool that answers in pages: the test repeats the call "+
		"with the cursor of each answer. By default the first."),
	of(mock.Text, "now", "The time of the call, such as \"2026-02-01T10:00:00Z\". By default that of the machine."),
)

var uriArguments = of(mock.Text, "resource", "The URI of the resource to read.")

const defaultTimeout = 10 * time.Second

func newBlock(cfg *hcl.Config, src hcl.TestBlock) *block {
	return &block{cfg: cfg, src: src, timeout: defaultTimeout, values: newArguments(testArguments),
		uri: newArguments(uriArguments)}
}

// headSpec is the spec of what says how the test is run.
func (b *block) headSpec() decode.Spec {
	return decode.Join(
		decode.Spec{
			decode.EachField(&b.each, "each", "A list or map: one test for each element, called by the name of the "+
				"block, a slash and the key. What follows can read each.key and each.value."),
		},
		decode.ExactlyOneOf("what is tested", append(decode.Spec{
			decode.Attr(&b.tool, "tool", "The tool to call."),
			decode.Attr(&b.prompt, "prompt", "The prompt to get."),
		}, b.uri.spec()...)...),
		b.values.spec(),
		setSpec(&b.skip),
		decode.Spec{
			decode.Attr(&b.onlyLive, "only_live", "Whether the test is run with --live only.").DefaultDoc("false"),
			decode.Attr(&b.requires, "requires", "The programs that the test needs, such as \"git\". It is skipped "+
				"where one is missing."),
			decode.PositiveDuration(&b.timeout, "timeout", "How long the test may take.").DefaultDoc("10s"),
		},
	)
}

// setSpec is the spec of what the configuration is loaded with, and of the reason not to run a test.
func setSpec(skip *string) decode.Spec {
	constant := func(name, doc string) decode.Field {
		return decode.Custom(name, "map of values", doc, func(d *decode.Decoder, e hclsyntax.Expression) {
			bare := &decode.Decoder{Env: &decode.Env{}, Src: d.Src}
			n := bare.CompileKnown(e, decode.Field{})
			d.Diags = append(d.Diags, bare.Diags...)
			if _, ok := n.Value.(map[string]any); !ok && !bare.Diags.HasErrors() {
				d.Errorf(e.Range(), "Wrong type", "%s takes names and values: %s = { name = \"value\" }.", name, name)
			}
		})
	}
	return decode.Spec{
		constant("vars", "The values of variables, known without any other. A variable that is not named has its "+
			"default: the environment is not read."),
		constant("secrets", "The values of secrets. The value of one that is not named is \"test-\" and its name."),
		decode.Attr(skip, "skip", "Why the test is not run."),
	}
}

// blockSpec is the spec of the nested blocks. They are decoded when it is known what is tested.
func (b *block) blockSpec() decode.Spec {
	var mocks []string
	for _, name := range b.cfg.Kinds.Mocked() {
		mocks = append(mocks, "mock "+name)
	}
	return decode.Spec{
		callerField(&b.caller, "Who calls."),
		decode.Blocks("mock", "kind", "Requests to a backend, and its answers: "+diag.JoinAnd(mocks)+".", nil,
			b.decodeMock),
		decode.Blocks("answer", "question", "The answer of the client to a question, or of an operator about the call.",
			func() decode.Spec { return answerSpec(newArguments(answerArguments)) }, b.decodeAnswer),
		decode.Blocks("after", "name", b.queries(func(q *mock.After) string { return q.Doc })+", when the call is "+
			"over. Read as after.<name>.row and after.<name>.rows.", b.afterSpec, b.decodeAfter),
		decode.Blocks("expect", "", "What must come of the call. All blocks must hold.",
			func() decode.Spec { return new(expectBlock).spec() }, b.decodeExpect),
	}
}

func (e *expectBlock) spec() decode.Spec {
	e.values = newArguments(expectArguments)
	return append(e.values.spec(), decode.Attr(&e.that, "that",
		"A condition over result, text, content, error, sent, step, called, after and args."))
}

func answerSpec(a *arguments) decode.Spec { return decode.ExactlyOneOf("the answer", a.spec()...) }

// callerField declares the block of a caller.
func callerField(dst **arguments, doc string) decode.Field {
	doc += " Without it the caller is not known, as over standard input."
	return decode.Blocks("caller", "", doc, func() decode.Spec { return newArguments(callerArguments).spec() },
		func(d *decode.Decoder, n *hclsyntax.Block) {
			if *dst != nil {
				d.Errorf(n.DefRange(), "Duplicate block", "There may be one %s block here.", n.Type)
				return
			}
			*dst = newArguments(callerArguments)
			d.Body(n, (*dst).spec())
		})
}

func (b *block) decodeAnswer(d *decode.Decoder, n *hclsyntax.Block) {
	a := &answerBlock{values: newArguments(answerArguments), at: diag.RangeOf(n.DefRange())}
	d.Body(n, answerSpec(a.values))
	approves := n.Body.Attributes["approve"] != nil
	if len(n.Labels) > 0 {
		a.key = n.Labels[0]
	}
	switch {
	case len(n.Labels) > 1 || approves != (len(n.Labels) == 0):
		d.Errorf(n.DefRange(), "Wrong number of labels", "An answer block is written `answer \"question\" {`, and "+
			"about an approval `answer { approve = true }`.")
		return
	case !approves && b.op != nil:
		a.ask = b.findAsk(d, n)
	}
	b.answers = append(b.answers, a)
}

func (b *block) decodeAfter(d *decode.Decoder, n *hclsyntax.Block) {
	before := len(d.Diags)
	if d.CheckNames(n, b.afterSpec()); len(d.Diags) > before {
		return
	}
	if len(n.Labels) != 1 || len(n.Body.Blocks) != 1 || len(n.Body.Blocks[0].Labels) != 1 ||
		len(n.Body.Attributes) > 0 {
		d.Errorf(n.DefRange(), "Query needed", "An after block has a name, and in it %s.",
			b.queries(func(q *mock.After) string { return q.Missing }))
		return
	}
	query := n.Body.Blocks[0]
	b.noteConnection(d, query.LabelRanges[0], query.Type, query.Labels[0])
	a := &afterBlock{name: n.Labels[0], kind: query.Type, connection: query.Labels[0],
		at: diag.RangeOf(query.DefRange()), values: newArguments(b.cfg.Kinds.Mock(query.Type).After.Arguments)}
	d.Body(query, a.values.spec())
	b.after = append(b.after, a)
}

// afterSpec is the spec of the queries that backends take.
func (b *block) afterSpec() (spec decode.Spec) {
	for _, name := range b.cfg.Kinds.Mocked() {
		if q := b.cfg.Kinds.Mock(name).After; q != nil {
			spec = append(spec, decode.Blocks(name, "connection", q.Of,
				func() decode.Spec { return newArguments(q.Arguments).spec() }, nil))
		}
	}
	return spec
}

// queries returns what each of the queries says of itself.
func (b *block) queries(text func(*mock.After) string) string {
	var texts []string
	for _, name := range b.cfg.Kinds.Mocked() {
		if q := b.cfg.Kinds.Mock(name).After; q != nil {
			texts = append(texts, text(q))
		}
	}
	return diag.JoinOr(texts)
}

func (b *block) decodeExpect(d *decode.Decoder, n *hclsyntax.Block) {
	e := &expectBlock{at: diag.RangeOf(n.DefRange())}
	d.Body(n, e.spec())
	if len(n.Body.Attributes) == 0 {
		d.Errorf(n.DefRange(), "Nothing expected", "An expect block says which result is expected, as in "+
			"text = \"…\" or that = \"result.id == 7\".")
	}
	b.expects = append(b.expects, e)
}

// decode decodes the block, and returns its tests.
func (b *block) decode() []*Test {
	d, n := b.cfg.NewTestDecoder(b.src), b.src.Block
	b.d = d
	head, blocks := b.headSpec(), b.blockSpec()
	d.CheckNames(n, head, blocks)
	d.Fields(n, head)
	b.findTarget()
	for _, f := range blocks {
		s := d.Scope
		if f.Name == "expect" {
			s = b.conditionScope(s)
		}
		d.In(s, func() { d.Fields(n, decode.Spec{f}) })
	}
	if d.Diags.HasErrors() || d.MissingValue {
		return nil
	}
	return b.elements()
}

// element is one element of a test while its values are computed.
type element struct {
	*block
	diags *diag.Diagnostics
	frame *hcl.Frame
}

// elements returns the tests of the block.
func (b *block) elements() (tests []*Test) {
	name := b.src.Labels[0]
	if b.each == nil {
		return []*Test{b.element(name, nil)}
	}
	v, err := b.each.Eval(eval.NewLoadFrame(b.d.Env.Dir, b.d.Env.Now))
	list, _ := v.([]any)
	members, _ := v.(map[string]any)
	if n := len(list) + len(members); n > maxElements {
		b.d.Diags.Errorf(b.each.Range, "Too many tests", "each has %d elements, and may have %d.", n, maxElements)
		return nil
	}
	switch v := v.(type) {
	case []any:
		for i, each := range v {
			tests = append(tests, b.element(fmt.Sprintf("%s/%d", name, i), &hcl.Each{Key: i, Value: each}))
		}
	case map[string]any:
		for _, key := range value.Keys(v) {
			tests = append(tests, b.element(name+"/"+key, &hcl.Each{Key: key, Value: v[key]}))
		}
	}
	if len(tests) == 0 {
		b.d.Diags.Errorf(b.each.Range, "No tests", "each has no elements, so the test is never run.%s", reasonOf(err))
	}
	return tests
}

// maxElements is the maximum number of tests of one block.
const maxElements = 10000

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return " It cannot be computed: " + err.Error() + "."
}

// element returns the test of one element; each is nil without elements.
func (b *block) element(name string, each *hcl.Each) *Test {
	e := &element{block: b, diags: &b.d.Diags,
		frame: eval.NewLoadFrame(b.d.Env.Dir, b.d.Env.Now)}
	e.frame.Each = each
	values := b.values.values(e)
	t := &Test{Name: name, Kind: b.kind, Tool: b.toolDecl, Skip: b.skip, OnlyLive: b.onlyLive, Requires: b.requires,
		Timeout: b.timeout, Range: diag.RangeOf(b.src.DefRange()), Frame: e.frame, Target: b.tool + b.prompt}
	t.Args, _ = values["args"].(map[string]any)
	t.Vars, t.Secrets = Set(b.src)
	t.Page, _ = value.Int(values["page"])
	if text, ok := values["now"].(string); ok {
		var err error
		if t.Now, err = time.Parse(time.RFC3339, text); err != nil {
			e.diags.Errorf(b.values.ranges()["now"], "Invalid time",
				"now is a time such as \"2026-02-01T10:00:00Z\", not %q.", text)
		}
		now := t.Now
		e.frame.Functions.Now = func() time.Time { return now }
	}
	if b.kind == "resource" {
		t.Target, _ = b.uri.values(e)["resource"].(string)
	}
	if b.caller != nil {
		t.Caller = b.caller.values(e)
	}
	for _, m := range b.mocks {
		t.Mocks = append(t.Mocks, m.mock(e))
	}
	b.setAnswers(t, e)
	for _, a := range b.after {
		t.After = append(t.After, &After{a.name, a.kind, a.connection, a.values.values(e), a.at})
	}
	for _, x := range b.expects {
		t.Expects = append(t.Expects, b.expect(x, e))
	}
	if !b.d.Diags.HasErrors() {
		b.checkArguments(t)
		b.checkReplies(t, e)
	}
	return t
}

func (b *block) expect(x *expectBlock, e *element) *Expect {
	out := &Expect{Values: x.values.values(e), That: x.that, Ranges: x.values.ranges(), Range: x.at}
	for _, name := range []string{"text_matches", "error_matches"} {
		text, _ := out.Values[name].(string)
		if _, err := regexp.Compile(text); err != nil {
			e.diags.Errorf(out.Ranges[name], "Invalid pattern", "%s is a regular expression: %s.", name, err)
		}
	}
	if x.that != nil {
		out.Ranges["that"] = x.that.Range
	}
	b.checkMasked(out, e)
	if name, ok := out.Values["golden"].(string); ok && (!validFile(name) || strings.HasSuffix(name, ".hcl")) {
		e.diags.Errorf(out.Ranges["golden"], "Invalid golden", "golden is a file of its own in the configuration "+
			"directory, such as \"sync.golden.json\", not %q.", name)
	}
	return out
}

// Decode decodes test blocks of a configuration without errors.
func Decode(cfg *hcl.Config, blocks []hcl.TestBlock) (tests []*Test, diags diag.Diagnostics) {
	for _, src := range blocks {
		if src.Type == "search_test" {
			s := newSearch(cfg, src)
			tests = append(tests, s.decode()...)
			diags = append(diags, s.d.Diags...)
			continue
		}
		b := newBlock(cfg, src)
		tests = append(tests, b.decode()...)
		diags = append(diags, b.d.Diags...)
	}
	return tests, diags.Sort().Limit()
}

// Check reports the mistakes of the test blocks of a configuration that was loaded with these diagnostics.
func Check(cfg *hcl.Config, loaded diag.Diagnostics) diag.Diagnostics {
	diags := Duplicates(cfg.Tests)
	if !loaded.HasErrors() && !cfg.Partial {
		_, found := Decode(cfg, cfg.Tests)
		diags = append(diags, found...)
	}
	return diags
}
