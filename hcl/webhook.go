package hcl

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/internal/hostname"
)

// Webhook is one webhook block: a receiver of events, in requests signed according to Standard
// Webhooks.
type Webhook struct {
	Name     string
	Disabled bool              // the URL is null: no events are sent
	URL      decode.SecretText // the receiver
	// requests are signed with each secret; empty only for a disabled webhook
	Secrets   []decode.SecretText
	Timeout   time.Duration
	Retention time.Duration // how long a delivery is retried
	Range     Range
}

const (
	defaultWebhookTimeout = 10 * time.Second
	defaultRetention      = 24 * time.Hour
	minWebhookSecret      = 24 // bytes, as Standard Webhooks requires
	encodedSecretPrefix   = "whsec_"
)

func (w *Webhook) spec() decode.Spec {
	w.Timeout, w.Retention = defaultWebhookTimeout, defaultRetention
	return decode.Spec{
		w.urlField().Require(),
		w.secretField().Require(),
		decode.PositiveDuration(&w.Timeout, "timeout", "The timeout of one delivery.").DefaultDoc("10s"),
		decode.PositiveDuration(&w.Retention, "retention", "How long delivery of an event is retried, at growing "+
			"intervals. Then it fails permanently.").DefaultDoc("24h").RenamedFrom("keep"),
	}
}

// DisabledWebhooks returns the names of the disabled webhooks.
func (c *Config) DisabledWebhooks() (names []string) {
	for _, w := range c.Webhooks {
		if w.Disabled {
			names = append(names, w.Name)
		}
	}
	return names
}

// DisplayAddress returns the scheme and host of the URL. The rest may be secret.
func (w *Webhook) DisplayAddress() string {
	u, err := url.Parse(w.URL.Reveal())
	if err != nil {
		return Hidden
	}
	return u.Scheme + "://" + u.Host
}

// Keys returns the signing keys.
func (w *Webhook) Keys() [][]byte {
	keys := make([][]byte, len(w.Secrets))
	for i, secret := range w.Secrets {
		keys[i], _ = webhookKey(secret.Reveal())
	}
	return keys
}

// webhookKey returns the key of a secret, and whether the secret is valid.
func webhookKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, encodedSecretPrefix)
	if !ok {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil
}

// decodeWebhooks decodes the webhook blocks.
func (l *loader) decodeWebhooks() {
	l.eachBlock("webhook", func(d *decode.Decoder, b sourceBlock) {
		w := &Webhook{Name: b.Labels[0], Range: headerRange(b.Block)}
		checkExposedName(d, b.Block, "webhook", "identifies its deliveries")
		d.Body(b.Block, w.spec())
		if !d.Diags.HasErrors() && !d.MissingValue {
			w.checkAddress(d, b.Block)
		}
		if l.declare("webhook", w.Name, b) {
			l.config.Webhooks = append(l.config.Webhooks, w)
		}
	})
	slices.SortFunc(l.config.Webhooks, func(a, b *Webhook) int { return strings.Compare(a.Name, b.Name) })
	for _, w := range l.config.Webhooks {
		l.env.Webhooks = append(l.env.Webhooks, w.Name)
	}
}

// urlField declares the URL of a webhook, which is null for a disabled one.
func (w *Webhook) urlField() decode.Field {
	return decode.Custom("url", "string, secret allowed", "The URL that events are posted to. With null the webhook "+
		"is disabled. With http to another machine, events can be read in transit, which causes a warning. Redirects "+
		"are not followed.", func(d *decode.Decoder, e hclsyntax.Expression) {
		d.Ranges[&w.URL] = diag.RangeOf(e.Range())
		switch n := d.CompileKnown(e, decode.Field{Name: "url", Secret: true}); text := n.Value.(type) {
		case string:
			w.URL = decode.SecretText(text)
		case nil:
			w.Disabled = n.Known
		default:
			d.Errorf(e.Range(), "Wrong type", "url takes a string, not %s.", eval.ValuePhrase(text))
		}
	})
}

// secretField declares the secrets of a webhook: one, or several during rotation.
func (w *Webhook) secretField() decode.Field {
	return decode.Custom("secret", "string or list of strings, secret allowed", "The secret for signing requests, as "+
		"in secret.hook: at least 24 characters, or whsec_ and the key in base64. During rotation a list: requests "+
		"are signed with each secret, and nulls are ignored.", func(d *decode.Decoder, e hclsyntax.Expression) {
		d.Ranges[&w.Secrets] = diag.RangeOf(e.Range())
		n := d.CompileKnown(e, decode.Field{Name: "secret", Secret: true})
		all, ok := n.Value.([]any)
		if !ok {
			all = []any{n.Value}
		}
		for i, v := range all {
			switch text := v.(type) {
			case string:
				checkSecret(d, diag.RangeOf(decode.ElementRange(e, i)), text)
				w.Secrets = append(w.Secrets, decode.SecretText(text))
			case nil:
			default:
				d.Errorf(decode.ElementRange(e, i), "Wrong type",
					"secret takes a string or a list of strings, not %s.", eval.ValuePhrase(text))
			}
		}
	})
}

// checkSecret reports an invalid secret without showing it.
func checkSecret(d *decode.Decoder, r Range, secret string) {
	switch key, ok := webhookKey(secret); {
	case !ok:
		d.Diags.Errorf(r, "Invalid webhook secret", "whsec_ must be followed by base64 with padding.")
	case len(key) < minWebhookSecret:
		d.Diags.Errorf(r, "Weak webhook secret", "A secret of fewer than %d bytes can be guessed, and anyone who "+
			"knows it can forge events. Generate one with: openssl rand -base64 32.", minWebhookSecret)
	}
}

// checkAddress reports an invalid URL and a missing secret. It does not show the URL, which may be
// secret.
func (w *Webhook) checkAddress(d *decode.Decoder, b *hclsyntax.Block) {
	if w.Disabled {
		return
	}
	u, problem := hostname.ParseURL(w.URL.Reveal(), hostname.User|hostname.Query|hostname.Fragment)
	at := d.FieldRange(&w.URL, b)
	switch {
	case problem != "":
		d.Diags.Errorf(at, "Invalid webhook URL", "url is a complete URL such as "+
			"\"https://ops.example/hooks\", or null for a disabled webhook: %s.", problem)
	case u.User != nil || u.Fragment != "":
		d.Diags.Errorf(at, "Invalid webhook URL", "The URL of a webhook must not have a user "+
			"name, password or fragment: receivers verify the sender by the signature.")
	case hostname.IsReadable(u):
		d.Diags.Warnf(at, "Webhook without TLS",
			"With http, events can be read in transit, including the arguments of calls that need approval. Use https.")
	}
	if len(w.Secrets) == 0 {
		d.Diags.Errorf(d.FieldRange(&w.Secrets, b), "Missing webhook secret", "The webhook has a URL but no secret "+
			"for signing events; the secret is null. Set it, or make url null as well.")
	}
}

// webhooksField declares a list of webhooks, by name.
func webhooksField(dst *[]string, name, doc string) decode.Field {
	return decode.StringSet(dst, name, "list of webhooks", doc,
		func(d *decode.Decoder, r Range, hook string) string {
			if known := d.Env.Webhooks; !slices.Contains(known, hook) {
				if !d.Env.Partial {
					d.Diags.Errorf(r, "Unknown webhook", "There is no webhook %q.%s", hook,
						diag.SuggestOr(hook, known, listWebhooks(known)))
				}
				return ""
			}
			d.NoteReference(eval.Reference{At: r, Kind: "webhook", Name: hook})
			d.Deps.Webhooks = append(d.Deps.Webhooks, hook)
			return hook
		}).Wrap(func(d *decode.Decoder, e hclsyntax.Expression, read func()) {
		if !rejectWebhookReferences(d, e) {
			read()
		}
	})
}

// rejectWebhookReferences reports references such as webhook.ops: webhooks are not values; they are
// named in quotes.
func rejectWebhookReferences(d *decode.Decoder, e hclsyntax.Expression) (reported bool) {
	for _, t := range e.Variables() {
		if t.RootName() != "webhook" {
			continue
		}
		name := "name"
		if len(t) > 1 {
			name, _ = hclexpr.TraverserName(t[1])
		}
		d.Errorf(t.SourceRange(), "Name in quotes needed", "Name a webhook by a string: write [%q].",
			diag.Correct("webhook."+name, strconv.Quote(name), name))
		reported = true
	}
	return reported
}

func listWebhooks(known []string) string {
	if len(known) == 0 {
		return " Declare one: a block `webhook \"ops\" {` with its url and its secret."
	}
	return diag.ListAre(known)
}
