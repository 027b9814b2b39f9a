package trace

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// RatioFromEnvironment returns the share of calls that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say is traced;
// 1 without them. Whether a sampler begins with parentbased_ makes no difference.
func RatioFromEnvironment() (float64, error) {
	name, arg := os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		if arg == "" {
			return 1, nil
		}
		if ratio, err := strconv.ParseFloat(arg, 64); err == nil && ratio >= 0 && ratio <= 1 {
			return ratio, nil
		}
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is a number from 0 to 1, not %q", arg)
	}
	return 0, fmt.Errorf("OTEL_TRACES_SAMPLER is always_on, always_off or traceidratio, not %q", name)
}

// sendInterval returns how long ended spans wait for others at most: OTEL_BSP_SCHEDULE_DELAY, or 5 seconds.
func sendInterval() (time.Duration, error) {
	text := os.Getenv("OTEL_BSP_SCHEDULE_DELAY")
	if text == "" {
		return 5 * time.Second, nil
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("OTEL_BSP_SCHEDULE_DELAY is a number of milliseconds, not %q", text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// collectorSettings say how batches are sent.
type collectorSettings struct {
	url      string
	headers  map[string]string
	compress bool          // with gzip
	timeout  time.Duration // of one request
	tls      *tls.Config   // nil is that of the machine
}

// fromEnvironment returns the settings of a collector: those of the block, and where it has none those of the
// environment (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). An error names the variable, and not its
// value, which may be a credential.
func fromEnvironment(o ExporterOptions) (s collectorSettings, err error) {
	s = collectorSettings{headers: o.Headers, timeout: 10 * time.Second}
	if s.url, err = collectorURL(o.Endpoint); err != nil {
		return s, err
	}
	if name, text := exporterVariable("HEADERS"); text != "" && len(o.Headers) == 0 {
		if s.headers, err = parseHeaders(text); err != nil {
			return s, fmt.Errorf("%s is a list of NAME=value", name)
		}
	}
	switch name, text := exporterVariable("COMPRESSION"); text {
	case "gzip":
		s.compress = true
	case "", "none":
	default:
		return s, fmt.Errorf("%s is gzip or none", name)
	}
	if name, text := exporterVariable("TIMEOUT"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms <= 0 {
			return s, fmt.Errorf("%s is a number of milliseconds", name)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	s.tls, err = certificatesFromEnvironment()
	return s, err
}

// exporterVariable returns the variable with a setting of the exporter, and its value: that for traces, or else that
// for all signals.
func exporterVariable(setting string) (name, text string) {
	name = "OTEL_EXPORTER_OTLP_TRACES_" + setting
	if text = strings.TrimSpace(os.Getenv(name)); text != "" {
		return name, text
	}
	name = "OTEL_EXPORTER_OTLP_" + setting
	return name, strings.TrimSpace(os.Getenv(name))
}

// collectorURL returns where traces are sent: below the endpoint of the block or of all signals, or at the endpoint of
// traces itself.
func collectorURL(endpoint string) (string, error) {
	name := "the endpoint"
	if endpoint == "" {
		name, endpoint = exporterVariable("ENDPOINT")
	}
	base, err := url.Parse(cmp.Or(endpoint, "https://localhost:4318"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", fmt.Errorf("%s is a URL such as http://127.0.0.1:4318", name)
	}
	if !strings.HasSuffix(name, "_TRACES_ENDPOINT") {
		base = base.JoinPath("v1/traces")
	}
	return base.String(), nil
}

// parseHeaders parses a list of headers, whose values are encoded as in URLs.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("not a list of headers")
		}
		headers[name] = value
	}
	return headers, nil
}

// certificatesFromEnvironment returns how TLS verifies the collector and identifies this program; nil if the
// environment does not say so.
func certificatesFromEnvironment() (*tls.Config, error) {
	authority, authorityFile := exporterVariable("CERTIFICATE")
	certificate, certificateFile := exporterVariable("CLIENT_CERTIFICATE")
	key, keyFile := exporterVariable("CLIENT_KEY")
	if authorityFile == "" && certificateFile == "" && keyFile == "" {
		return nil, nil
	}
	config := &tls.Config{}
	if authorityFile != "" {
		config.RootCAs = x509.NewCertPool()
		text, err := os.ReadFile(authorityFile)
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s names no readable file with certificates", authority)
		}
	}
	if certificateFile != "" || keyFile != "" {
		pair, err := tls.LoadX509KeyPair(certificateFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s and %s name no certificate with its key", certificate, key)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
