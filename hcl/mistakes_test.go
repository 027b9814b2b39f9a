package hcl_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/sys/unix"

	. "hatchel/hcl"
	"hatchel/internal/sampletest"
)

// languages are files in which @ is a text of one of the languages of a configuration.
var languages = map[string]string{
	"sql": "connection \"sqlite\" \"d\" { file = \"x.db\" }\ntool \"t\" {\ndescription = \"d\"\ninput \"q\" { type = string }\n" +
		"sql \"d\" {\nquery = <<-E\nSELECT 1 @\nE\n}\n}\n",
	"url":    toolWith("http {\nget = \"https://a.example/@\"\n}"),
	"script": toolWith("shell {\nscript = <<-E\n@\nE\n}"),
	"words":  toolWith("shell {\ncommand = [\"x\", @]\n}"),
	"json":   toolWith("http {\npost = \"https://a.example/\"\njson = [@]\n}"),
	"text":   toolWith("text = <<-E\n@\nE"),
	"rule":   toolWith("text = input.q") + "policy \"p\" {\ntools = [\"t\"]\nallow = \"true @\"\n}\n",
	"list":   toolWith("text = input.q") + "policy \"p\" {\ntools = [\"t\"]\nallow = \"input.q in [@]\"\n}\n",
	"body":   "tool \"t\" {\ndescription = \"d\"\ntext = \"x\"\n@\n}\n",
	"file":   toolWith("text = input.q") + "@\n",
	"locals": toolWith("text = input.q") + "locals {\n@\n}\n",
	"tools":  toolWith("text = input.q") + "toolset \"s\" {\ntools = [@]\n}\n",
	"quoted": toolWith("text = \"@\""),
	"value":  toolWith("text = [@]"),
	"expr":   toolWith("text = \"${@}\""),
	"form":   toolWith("http {\npost = \"https://a.example/\"\nform = {\n@\n}\n}"),
	"csv":    toolWith("text = input.q") + "connection \"csv\" \"c\" {\nfile = \"a.csv\"\ncolumns = {\n@\n}\n}\n",
	"enum":   "tool \"t\" {\ndescription = \"d\"\ninput \"a\" {\ntype = string\nenum = [@]\n}\ntext = input.a\n}\n",
	"prose":  "tool \"t\" {\ndescription = \"@\"\ntext = \"x\"\n}\n",
	"steps":  "tool \"t\" {\ndescription = \"d\"\nstep \"s\" {\nwait { for = \"1s\" }\n}\n@\ntext = \"x\"\n}\n",
}

// lengths are kinds of what a file may have many of, to be repeated. # is the number of the repetition, and
// < that of the one before.
var lengths = map[string][]string{
	"text": {"$ ", "%", "%{", "$${x}", "line\n", "  line $x\n", "%{if input.q == \"a\"}\nb\n%{endif}\n", "${input.q}\n", "${",
		"%{for x in [1]}a%{endfor}", "{", "a"},
	"quoted": {"$ ", "%", "$${x}", "\\n", "\\u00e9", "${input.q}", "é"},
	"script": {"$ ", "echo $x\n", "x=$x\n", "echo $(echo a)\n", "if true; then echo ${input.q}; fi\n", "a | ", "a && ",
		"f#() { echo $1; }\nf# ${input.q}\n", "x#=${input.q}; echo $x#\n", "eval $x#\n", "#comment\n", "{a,b} ", "\"$@\" ", "export A=b#\n", "cat <<E\na ${input.q}\nE\n", "curl https://a.example/#\n", "echo 'a b'\n"},
	"value": {"\"a\",", "input.q,", "\"$\",", "{a=1},", "[1],", "\"${input.q}\",", "upper(input.q),"},
	"expr":  {"input.q + ", "(", "[", "!", "-", "1 + ", "input.q == \"a\" ? 1 : ", "upper(", "{a="},
	"rule":  {"&& input.q == \"a\" ", "|| input.q == \"a#\"", "+ 1", "and not (input.q == \"#\")", "? true : true"},
	"body": {"input \"a#\" { type = string }\n", "input \"a#\" {\ntype = string\nenum = [\"a\"]\n}\n",
		"check \"true\" { message = \"m\" }\n"},
	"steps": {"step \"s#\" {\nwait { for = \"1s\" }\n}\n", "step \"s#\" {\nprogress { done = # }\n}\n",
		"step \"s#\" {\ntool \"t\" { a = step.s< }\n}\n"},
	"file": {"tool \"a#\" {\ndescription = \"d\"\ntext = \"x\"\n}\n", "locals {\nb#=1\n}\n", "variable \"v#\" { default = 1 }\n",
		"secret \"s#\" { env = \"X#\" }\n", "policy \"p#\" {\ntools = [\"t\"]\nallow = \"input.q == 'a#'\"\n}\n",
		"policy \"p#\" {\ntools = [\"t\"]\ndeny = \"input.q == 'a#'\"\n}\n", "toolset \"s#\" {\ntools = [\"t\"]\n}\n",
		"connection \"sqlite\" \"c#\" { file = \"x#.db\" }\ntool \"y#\" {\ndescription = \"d\"\nsql \"c#\" { query = \"SELECT # AS a\" }\n}\n",
		"resource \"r#\" {\nuri = \"x://a#\"\ntext = \"a\"\n}\n", "prompt \"p#\" {\ndescription = \"d\"\ntext = \"a\"\n}\n",
		"type \"t#\" { is = object({ a = string }) }\n", "connection \"http\" \"c#\" { url = \"https://a.example\" }\n", "# c\n", "/* a */\n"},
	"locals": {"b# = local.b<\n", "c# = \"a\"\n", "d# = {a=1}\n", "password_# = 1\n"},
	"sql":    {", $1", ", 'a'", "-- a\n", "/* a */", ", ${input.q}", ", \"a\"", "UNION SELECT 1 ", "(SELECT 1 ", "$a$ "},
	"list":   {"'a#', ", "input.q, ", "[1], "},
	"json":   {"{ a# = 1 }, ", "\"https://a.example/#\", ", "\"a ${input.q}\", ", "[input.q], "},
	"url":    {"a${input.q}/", "%20", "?a=#&"},
	"words":  {"\"--a=${input.q}\", ", "\"https://a.example/#\", "},
	"form":   {"a# = input.q\n"},
	"csv":    {"c# = string\n"},
	"enum":   {"\"a#\", "},
	"prose":  {"https://a.example/# ", "a `b` ", "$${x} ", "é"},
}

// mistakes are kinds of mistakes of each language, to be repeated. # is the number of the repetition.
var mistakes = map[string][]string{
	"sql": {")", ";", "? ", "(", "''' ", ", ${input.x#}", ", '${input.q}'", ", x${input.q}", ", \"${input.q}\"",
		"/* ${input.q} */ ", "; SELECT 1", "%{if input.q}, 1%{endif} ", ", ${ident(input.q)}", ", ${null}"},
	"url":    {"${input.x#}/", "a${input.q}${input.q}b/", "?", "../", " x", "#a", "?token=abc#", "${raw(input.q)}/"},
	"script": {")\n", "; ", "(", "echo ${input.x#}\n", "eval ${input.q}\n", "sh -c ${input.q}\n", "# ${input.q}\n", "echo '${input.q}'\n", "export API_TOKEN=abc#\n"},
	"words":  {"input.x#, ", "\"--password=abc#\", ", "\"a${input.x#}\", ", "\"sh\", \"-c\", \"${input.q}\", "},
	"json": {"input.x#, ", "foo#(), ", "upper(), ", "upper(1), ", "foo#.x, ", "{ k = 1, k = 2 }, ", "input.q.a#, ", "input.q[0], ",
		"input.q + 1, ", "{ password = \"hunter#\" }, ", "\"ghp_abcdefghijklmnopqrst1234#\", ", "\"${caller.subject}\", "},
	"text": {"${input.x#} ", "{{input.q}} ", "${foo#(1)} ", "%{if input.q}a%{endif} ", "%{endif}", "${}",
		"ghp_abcdefghijklmnopqrst1234# ", "ghp_abcdefghijklmnopqrst1234#\n"},
	"rule": {")", "(", "; ", "@ ", "&& input.x# == 1 ", "&& foo# == 1 ", "&& foo#(1) ", "&& (input.q + 1) == 2 ", "&& input.q.a# == 2 ",
		"&& upper() == 2 "},
	"list": {"x#, ", "input.x#, ", "foo#(), "},
	"body": {"foo# = 1\n", "foo# {}\n", "input \"a#\" { type = strng }\n", "input \"a b#\" { type = string }\n",
		"input \"a\" { type = string }\n", "check {\nwhen = \"foo#\"\nmessage = \"m\"\n}\n"},
	"file": {"{", "}\n", "\"\n", "x# = 1\n", "foo# \"x\" {}\n", "variable \"v#\" { type = foo }\n", "secret \"s#\" { envv = \"x\" }\n",
		"tool \"u\" {\ndescription = \"d\"\ntext = \"x\"\n}\n", "on \"tool_result\" {\nnotify = [\"w#\"]\n}\n"},
	"locals": {"a# = local.b#\n", "a = 1\n", "a#_token = \"abc#\"\n"},
	"tools":  {"\"x#\", "},
}

// cpuTime returns the processor time of the thread: others do the work of other tests. The caller has locked it.
func cpuTime(t *testing.T) time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// Eight times as many mistakes of a kind cost about eight times as much. The bound is generous: quadratic work would
// cost 64 times as much. The parser of HCL is not measured: it joins the pieces of a text in quadratic time, up to
// as many as package syntax lets a file have.
func TestMistakesTakeLinearTime(t *testing.T) { requireLinear(t, mistakes) }

func TestLongFilesTakeLinearTime(t *testing.T) { requireLinear(t, lengths) }

// cost is the least time that a text has taken: to load, and to parse alone.
type cost struct{ load, parse time.Duration }

func newCost() *cost { return &cost{time.Hour, time.Hour} }

// own returns what loading takes besides the parser of HCL.
func (c *cost) own() time.Duration { return c.load - c.parse }

func requireLinear(t *testing.T, repeated map[string][]string) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for language, kinds := range repeated {
		for _, kind := range sampletest.Of(t, 1+len(kinds)/3, kinds) {
			measure := func(n int, best *cost) {
				var text strings.Builder
				for i := range n {
					text.WriteString(strings.NewReplacer("#", strconv.Itoa(i), "<", strconv.Itoa(i-1)).Replace(kind))
				}
				src := strings.Replace(languages[language], "@", text.String(), 1)
				began := cpuTime(t)
				config, diags := loadText(t, src, "", Options{})
				if err := diags.Print(new(strings.Builder), config.Sources); err != nil {
					t.Fatal(err)
				}
				loaded := cpuTime(t)
				hclsyntax.ParseConfig([]byte(src), "a.hcl", hclv2.InitialPos)
				best.load, best.parse = min(best.load, loaded-began), min(best.parse, cpuTime(t)-loaded)
			}
			const (
				enough = 50 * time.Millisecond
				most   = 40
			)
			large, small := newCost(), newCost()
			measure(2000, large)
			if large.load <= enough {
				continue
			}
			measure(250, small)
			// What else runs on the machine can only add to a cost, so the least of some attempts is near the work itself.
			isLinear := func() bool { return large.own() <= enough || large.own() <= most*small.own() }
			for attempt := 0; attempt < 20 && !isLinear(); attempt++ {
				measure(250, small)
				measure(2000, large)
			}
			if !isLinear() {
				t.Errorf("%s: 250 × %q take %v, 2,000 take %v", language, kind, small.own(), large.own())
			}
		}
	}
}
