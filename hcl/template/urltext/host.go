package urltext

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ValidHost reports whether s is allowed in hosts = [...]: a host name, an address, or *.name for
// all its subdomains, each with or without :port.
func ValidHost(s string) bool { return authorityProblem(strings.TrimPrefix(s, "*.")) == "" }

// authorityProblem returns the mistake in a host and port, or "".
func authorityProblem(s string) string {
	host, port, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return `has no closing "]"`
		}
		if strings.Trim(s[1:end], "0123456789abcdefABCDEF:.") != "" || end == 1 {
			return "is not an IPv6 address in its brackets"
		}
		host, port, hasPort = "", strings.TrimPrefix(s[end+1:], ":"), end+1 < len(s)
		if hasPort && s[end+1] != ':' {
			return `has something other than ":port" after its "]"`
		}
	} else {
		host, port, hasPort = strings.Cut(s, ":")
		if host == "" {
			return "is empty"
		}
	}
	for i := 0; i < len(host); i++ {
		if c := host[i]; !unreserved(c) || c == '~' {
			if c >= 0x80 {
				return "holds letters outside ASCII: write its xn-- form"
			}
			return fmt.Sprintf("holds %q", c)
		}
	}
	if hasPort && (len(port) == 0 || len(port) > 5 || strings.Trim(port, "0123456789") != "" || len(port) == 5 &&
		port > "65535") {
		return "has a port that is not a number up to 65535"
	}
	return ""
}

// checkData checks a complete URL from a caller.
func checkData(s, source string, hosts []string) error {
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return fmt.Errorf("%s must be a whole URL that begins with https:// or http://", source)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	if strings.Contains(authority, "@") {
		return fmt.Errorf("%s must not hold a user or password before its host", source)
	}
	if why := authorityProblem(authority); why != "" {
		return fmt.Errorf("the host in %s %s", source, why)
	}
	for i := end; i < len(rest); i++ {
		c := rest[i]
		_, escaped := decodePercent(rest[i:])
		switch {
		case c == '#':
			return fmt.Errorf("%s must not have a fragment: remove the # and the text after it", source)
		case c == '%' && !escaped:
			return fmt.Errorf("%s holds a %% that does not begin an escape: write it %%25", source)
		case c != '%' && !queryChar(c):
			return fmt.Errorf("%s holds the character %q, which must be written %s in a URL", source, c,
				escape(string([]byte{c})))
		}
	}
	for _, h := range hosts {
		if allows(h, scheme, strings.ToLower(authority)) {
			return nil
		}
	}
	if len(hosts) == 0 {
		return errors.New("no host is allowed for this request")
	}
	return fmt.Errorf("the host in %s is not allowed here; allowed are %s", source, strings.Join(hosts, ", "))
}

// allows reports whether an entry of hosts matches an authority.
func allows(entry, scheme, authority string) bool {
	entry = strings.ToLower(entry)
	host, port := splitPort(authority)
	wantHost, wantPort := splitPort(entry)
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if cmp.Or(port, usual) != cmp.Or(wantPort, usual) {
		return false
	}
	if below, ok := strings.CutPrefix(wantHost, "*."); ok {
		return strings.HasSuffix(host, "."+below) && len(host) > len(below)+1
	}
	return host == wantHost
}

func splitPort(authority string) (host, port string) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, ""
	}
	return authority[:i], authority[i+1:]
}
