package hcl

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// Telemetry is the telemetry block: the metrics and traces that the server gives to monitoring systems.
type Telemetry struct {
	Metrics *Metrics // nil for none
	OTLP    *OTLP    // nil for none
}

func (t *Telemetry) spec() decode.Spec {
	return decode.Spec{
		decode.Block(&t.Metrics, "metrics", "Metrics of calls, backends and the server itself, which Prometheus "+
			"scrapes from GET /metrics. hatchel docs metrics lists them.", (*Metrics).spec).CheckBlock(t.checkMetrics),
		decode.Block(&t.OTLP, "otlp", "Traces of calls, which are sent to an OpenTelemetry collector by OTLP over "+
			"HTTP. There is a span for each call, step, HTTP request, SQL statement and program. Spans have neither "+
			"arguments nor results.", (*OTLP).spec).CheckBlock(t.setOTLPRange),
	}
}

// decodeTelemetry decodes the telemetry block.
func (l *loader) decodeTelemetry() {
	l.onlyBlock("telemetry", func(d *decode.Decoder, b sourceBlock) {
		d.Scope = l.call
		d.Body(b.Block, l.config.Telemetry.spec())
		if len(b.Body.Blocks) == 0 {
			d.Errorf(b.DefRange(), "Empty telemetry", "The block is empty. Write metrics {} or otlp {} in it, or "+
				"remove it.")
		}
	})
}

// Metrics is the metrics block: where metrics are scraped, and by whom.
type Metrics struct {
	Listen  string     // HOST:PORT; empty for the address of the server
	Allow   *Condition // over caller; nil for operators, or with Listen for this machine
	Callers int        // subjects of callers in metrics; 0 for none
	Range   Range      // of Listen, or of the block
}

const maxMetricCallers = 1000

func (m *Metrics) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&m.Listen, "listen", "An address HOST:PORT of its own, as in \"127.0.0.1:9464\", which serves "+
			"GET /metrics and nothing else, also beside --stdio. It uses the certificates of the tls block. By "+
			"default /metrics is at the address of the server.").Check(m.checkListen),
		decode.Attr(&m.Allow, "allow", "Who may read the metrics: an expression over caller, as in "+
			"\"'metrics' in caller.groups\". \"true\" lets everybody read them, also without a credential. By default "+
			"the group admin may, and without auth the programs of this machine. A listen address on the loopback "+
			"interface is open to all programs of this machine by default."),
		decode.Attr(&m.Callers, "callers", "How many callers get series of their own, labelled with their subject: "+
			"the first ones that call. All others are counted together as _other.").DefaultDoc("0").
			Check(m.checkCallers),
	}
}

// hostNamePattern matches a host name of at most maxHostName characters (RFC 1123, section 2.1).
var hostNamePattern = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

const maxHostName = 253

// splitAddress splits HOST:PORT. The host may be empty, for all addresses of the machine.
func splitAddress(address string) (host string, ok bool) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return "", false
	}
	host, port := address[:at], address[at+1:]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", false
	}
	if ip, isIPv6 := strings.CutPrefix(host, "["); isIPv6 {
		host = strings.TrimSuffix(ip, "]")
		_, err := netip.ParseAddr(host)
		return host, err == nil && len(host)+1 == len(ip)
	}
	return host, host == "" || len(host) <= maxHostName && hostNamePattern.MatchString(host)
}

func (m *Metrics) checkListen(d *decode.Decoder, r Range) {
	m.Range = r
	if _, ok := splitAddress(m.Listen); !ok {
		d.Diags.Errorf(r, "Invalid address", "listen is HOST:PORT, as in \"127.0.0.1:9464\", not %q.", m.Listen)
	}
}

func (m *Metrics) checkCallers(d *decode.Decoder, r Range) {
	if m.Callers < 0 || m.Callers > maxMetricCallers {
		d.Diags.Errorf(r, "Number out of range", "callers is 0 to %d, not %d.", maxMetricCallers, m.Callers)
	}
}

// checkMetrics reports metrics that other machines could read though no rule says so.
func (t *Telemetry) checkMetrics(d *decode.Decoder, b *hclsyntax.Block) {
	m := t.Metrics
	if m.Listen == "" {
		m.Range = headerRange(b)
	}
	host, ok := splitAddress(m.Listen)
	if ok && !hostname.IsLocal(host) && b.Body.Attributes["allow"] == nil {
		d.Diags.Errorf(m.Range, "Metrics without protection", "Other machines can connect to %s, and nothing says who "+
			"may read the metrics. Add allow = \"'metrics' in caller.groups\", write allow = \"true\" for a network "+
			"where everybody may, or listen on 127.0.0.1.", m.Listen)
	}
}

// OTLP is the otlp block: where traces are sent, and which calls are traced.
type OTLP struct {
	Endpoint string // base URL of the collector; empty for that of the environment
	Headers  map[string]decode.SecretText
	Traces   *float64   // share of the calls without a decision of their caller; nil for that of the environment
	Trust    *Condition // over caller; nil for callers that are authenticated
	Burst    int        // traces a second
	Range    Range
}

const (
	defaultTraceBurst = 200
	maxTraceBurst     = 100_000
)

func (o *OTLP) spec() decode.Spec {
	o.Burst = defaultTraceBurst
	return decode.Spec{
		decode.Attr(&o.Endpoint, "endpoint", "The base URL of the collector, as in \"http://127.0.0.1:4318\". Traces "+
			"are posted to /v1/traces below it. By default the environment variable OTEL_EXPORTER_OTLP_ENDPOINT, or "+
			"else https://localhost:4318.").Check(o.checkEndpoint),
		o.headersField(),
		decode.RangedFloat(&o.Traces, "traces", "The share of calls that are traced, from 0 to 1. It applies to calls "+
			"without a traceparent, and to callers whose traceparent is not trusted.", 1).
			DefaultDoc("OTEL_TRACES_SAMPLER, or else 1"),
		decode.Attr(&o.Trust, "trust", "Whose traceparent decides whether a call is traced: an expression over "+
			"caller, as in \"'agents' in caller.groups\". By default that of authenticated callers and of the client "+
			"on stdio."),
		decode.Attr(&o.Burst, "burst", "The most calls that are traced in a second, also of trusted callers.").
			DefaultDoc("200").Check(o.checkBurst),
	}
}

// headersField declares the headers of the requests to the collector.
func (o *OTLP) headersField() decode.Field {
	return decode.Custom("headers", "map of strings, secret allowed", "Headers of the requests to the collector, as "+
		"in { x-api-key = secret.collector }. By default those of the environment variable OTEL_EXPORTER_OTLP_HEADERS.",
		func(d *decode.Decoder, e hclsyntax.Expression) {
			n := d.CompileKnown(e, decode.Field{Name: "headers", Secret: true})
			if !n.Known {
				return
			}
			values, ok := n.Value.(map[string]any)
			if !ok {
				d.Errorf(e.Range(), "Wrong type", "headers takes a map of strings, not %s.",
					eval.ValuePhrase(n.Value))
			}
			o.Headers = make(map[string]decode.SecretText, len(values))
			for _, name := range slices.Sorted(maps.Keys(values)) {
				text, isText := values[name].(string)
				key, at := rangesOfPair(d, e, name)
				switch {
				case !isText:
					d.Errorf(at, "Wrong type", "The header %s takes a string, not %s.", name,
						eval.ValuePhrase(values[name]))
				case !headerNamePattern.MatchString(name):
					d.Errorf(key, "Invalid header", "The name of a header has letters, digits and hyphens, not %q.",
						name)
				case !headerValuePattern.MatchString(text):
					d.Errorf(at, "Invalid header", "The header %s cannot have line breaks or other control characters.",
						name)
				}
				o.Headers[name] = decode.SecretText(text)
			}
		})
}

// rangesOfPair returns where a name and its value are in a map that is written out, or else the whole map.
func rangesOfPair(d *decode.Decoder, e hclsyntax.Expression, name string) (key, at hclv2.Range) {
	if object, ok := e.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			key := item.KeyExpr.Range()
			if strings.Trim(string(key.SliceBytes(d.Src)), `"`) == name {
				return key, item.ValueExpr.Range()
			}
		}
	}
	return e.Range(), e.Range()
}

// headerValuePattern matches a value that a header can have.
var headerValuePattern = lazyregexp.New(`^[^\x00-\x1f\x7f]*$`)

// setOTLPRange remembers where the otlp block is.
func (t *Telemetry) setOTLPRange(_ *decode.Decoder, b *hclsyntax.Block) {
	t.OTLP.Range = headerRange(b)
}

// checkEndpoint reports a collector that cannot be reached, and one to which credentials travel unprotected.
func (o *OTLP) checkEndpoint(d *decode.Decoder, r Range) {
	u, problem := hostname.ParseURL(o.Endpoint, hostname.User)
	switch {
	case problem != "":
		d.Diags.Errorf(r, "Invalid endpoint", "endpoint is the base URL of a collector, as in "+
			"\"http://127.0.0.1:4318\": %s.", problem)
	case u.User != nil:
		d.Diags.Errorf(r, "Invalid endpoint", "The URL of a collector must not have a user name or password. Write "+
			"headers = { authorization = secret.collector }.")
	case hostname.IsReadable(u):
		d.Diags.Warnf(r, "Collector without TLS", "With http, traces and the headers of the requests can be read in "+
			"transit. Use https.")
	}
}

func (o *OTLP) checkBurst(d *decode.Decoder, r Range) {
	if o.Burst < 1 || o.Burst > maxTraceBurst {
		d.Diags.Errorf(r, "Number out of range", "burst is 1 to %d, not %d.", maxTraceBurst, o.Burst)
	}
}
