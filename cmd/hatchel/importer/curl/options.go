package curl

import "strings"

// option says how an option of curl is read.
type option struct {
	takesValue bool
	advice     string // what a tool has in its place; empty for an option that needs no report
}

// options are the options of curl by their long names.
var options = optionTable()

// letters are the short options.
var letters = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'F': "form", 'u': "user", 'G': "get", 'I': "head", 'A': "user-agent",
	'e': "referer", 'b': "cookie", 'm': "max-time", 's': "silent", 'S': "show-error", 'v': "verbose", 'i': "include",
	'o': "output", 'O': "remote-name", 'f': "fail", 'L': "location", 'w': "write-out", 'g': "globoff",
	'#': "progress-bar", 'D': "dump-header", 'N': "no-buffer", 'k': "insecure", 'E': "cert", 'x': "proxy",
	'c': "cookie-jar", 'T': "upload-file", 'r': "range", '4': "ipv4", '6': "ipv6", 'U': "proxy-user", '0': "http1.0",
	'1': "tlsv1", '2': "sslv2", '3': "sslv3", 'C': "continue-at", 'J': "remote-header-name", 'K': "config",
	'n': "netrc", 'p': "proxytunnel", 'q': "disable", 'R': "remote-time", 'y': "speed-time", 'Y': "speed-limit",
	'z': "time-cond", 'Z': "parallel", ':': "next", 'a': "append", 'B': "use-ascii", 'h': "help", 'V': "version",
	'j': "junk-session-cookies", 'M': "manual", 'l': "list-only", 'P': "ftp-port", 'Q': "quote", 't': "telnet-option",
}

// What tools have in place of options of curl.
const (
	adviceTLS     = "set ca_file, cert_file and key_file of the connection"
	adviceProxy   = "set HTTPS_PROXY, HTTP_PROXY or NO_PROXY in the environment of the server"
	adviceRetry   = "write a retry block in the connection"
	adviceAddress = "requests are sent to the address that the resolver of the server finds"
	adviceAuth    = "a connection sends a token, a user and a password (Basic), headers or parameters"
	adviceHeader  = "write it in headers of the http block"
	adviceLimits  = "set timeout, max_body or rate of the connection"
)

func optionTable() map[string]option {
	table := map[string]option{}
	add := func(takesValue bool, advice, names string) {
		for name := range strings.FieldsSeq(names) {
			table[name] = option{takesValue, advice}
		}
	}
	// Options that say what is sent.
	add(true, "", `request header data data-ascii data-raw data-binary data-urlencode json form form-string user
		user-agent referer cookie url url-query oauth2-bearer max-time upload-file output proto-default config`)
	add(false, "", "get head location location-trusted path-as-is globoff remote-name next")
	// Options that change only what curl prints, and what a connection does by itself.
	add(false, "", `silent show-error verbose include fail fail-with-body fail-early compressed no-progress-meter
		progress-meter progress-bar http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ipv4 ipv6
		no-buffer buffer basic disable remote-header-name remote-name-all remote-time remove-on-error styled-output
		parallel parallel-immediate no-keepalive keepalive no-sessionid sessionid no-alpn alpn no-npn npn tcp-nodelay
		tcp-fastopen tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 sslv2 sslv3 ssl ssl-reqd ssl-no-revoke
		ssl-revoke-best-effort ssl-allow-beast ssl-auto-client-cert suppress-connect-headers trace-time trace-ids
		tr-encoding raw create-dirs no-clobber clobber xattr disallow-username-in-url ignore-content-length
		junk-session-cookies false-start cert-status doh-cert-status append use-ascii list-only manual help version
		metalink compressed-ssh disable-eprt disable-epsv form-escape out-null skip-existing ca-native`)
	add(true, "", `write-out dump-header trace trace-ascii trace-config stderr output-dir libcurl alt-svc hsts
		keepalive-time keepalive-cnt expect100-timeout happy-eyeballs-timeout-ms parallel-max tls-max ciphers
		tls13-ciphers curves create-file-mode etag-save egd-file random-file engine proto proto-redir ip-tos
		vlan-priority ftp-port quote telnet-option login-options sasl-authzid service-name delegation variable`)
	// Options without an equal.
	add(false, "the certificate of the service is verified: "+adviceTLS, "insecure")
	add(true, adviceTLS, "cacert capath cert cert-type key key-type pass crlfile pinnedpubkey")
	add(true, adviceProxy, `proxy preproxy proxy-user proxy-header proxy1.0 noproxy socks4 socks4a socks5
		socks5-hostname proxy-cacert proxy-cert proxy-key proxy-pass`)
	add(false, adviceProxy,
		"proxytunnel proxy-anyauth proxy-basic proxy-digest proxy-insecure proxy-negotiate proxy-ntlm")
	add(true, adviceRetry, "retry retry-delay retry-max-time")
	add(false, adviceRetry, "retry-all-errors retry-connrefused")
	add(true, adviceAddress, `resolve connect-to interface local-port unix-socket abstract-unix-socket doh-url
		dns-servers dns-interface dns-ipv4-addr dns-ipv6-addr haproxy-clientip`)
	add(false, adviceAddress, "doh-insecure haproxy-protocol")
	add(true, adviceAuth, "aws-sigv4 netrc-file tlsuser tlspassword tlsauthtype")
	add(false, adviceAuth, "digest ntlm ntlm-wb negotiate netrc netrc-optional")
	add(false, "the user and the password are sent with each request (Basic)", "anyauth")
	add(true, "cookies of responses are not kept", "cookie-jar")
	add(true, adviceHeader, "range continue-at time-cond etag-compare")
	add(true, adviceLimits, "connect-timeout limit-rate max-filesize speed-limit speed-time rate")
	add(true, "set redirects of the connection", "max-redirs")
	add(false, "a POST is not repeated after 301, 302 or 303", "post301 post302 post303")
	add(true, "a request is sent to the path of its URL", "request-target")
	add(false, "bodies are sent unchanged", "crlf")
	return table
}

// findOption returns an option by its long name. Options without a value may have the prefix no-.
func findOption(name string) (option, bool) {
	o, known := options[name]
	if positive, negated := strings.CutPrefix(name, "no-"); negated && !known {
		if o, known = options[positive]; known && !o.takesValue {
			return option{}, true
		}
		return option{}, false
	}
	return o, known
}
