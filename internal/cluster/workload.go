// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Workload is a cluster without a kubeconfig: a cluster of a cloud, or one that trusts the
// ServiceAccount tokens of the controller's cluster. Credentials are requested when they are needed
// and are not stored.
type Workload struct {
	// Cloud is aws, azure or gcp; empty for a cluster that trusts tokens of ServiceAccounts.
	Cloud string
	// Resource is the name of the cluster in its cloud; empty if it is not needed.
	Resource string
	// Address is the URL of the API server; empty if the cloud looks it up.
	Address string
	// CA is the certificate authority of the API server in PEM. If it is empty, the cloud looks
	// it up, or the authorities of the system are used.
	CA string
	// Audiences are the audiences of tokens; empty for the default of the cloud.
	Audiences []string
	// ServiceAccount is the ServiceAccount whose tokens are used, in the controller's own
	// cluster. Without a name, which only a cloud allows, the controller uses its own identity.
	ServiceAccount types.NamespacedName
	// Annotations are those of the ServiceAccount, which select the identity in a cloud; nil
	// elsewhere. ParseWorkload does not set them.
	Annotations map[string]string
}

// TokenRequester requests a token of a ServiceAccount and returns it with its expiry. It is called
// concurrently.
type TokenRequester func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// WorkloadOptions limit the content of ConfigMaps that describe clusters. Flags of the controller
// set them.
type WorkloadOptions struct {
	// DefaultServiceAccount is the ServiceAccount of ConfigMaps that name none; empty for none.
	DefaultServiceAccount string
	// AllowServiceAccounts allows tokens of ServiceAccounts.
	AllowServiceAccounts bool
}

// ParseWorkload parses the data of a ConfigMap. Its ServiceAccount is in namespace. Errors begin
// with the key.
func ParseWorkload(data map[string]string, namespace string, o WorkloadOptions) (*Workload, error) {
	w := &Workload{CA: data["ca.crt"], Resource: data["cluster"]}
	name := data["serviceAccountName"]
	if name == "" {
		name = o.DefaultServiceAccount
	}
	w.ServiceAccount = types.NamespacedName{Namespace: namespace, Name: name}
	for audience := range strings.Lines(data["audiences"]) {
		if audience = strings.TrimSpace(audience); audience != "" {
			w.Audiences = append(w.Audiences, audience)
		}
	}
	complete := w.generic
	switch provider := data["provider"]; provider {
	case "generic":
		if !o.AllowServiceAccounts {
			return nil, errors.New("provider generic is for tokens of ServiceAccounts" + withoutGate)
		}
	case "aws", "azure", "gcp":
		w.Cloud, complete = provider, w.cloud
		if name != "" && !o.AllowServiceAccounts {
			return nil, errors.New("serviceAccountName requests tokens of ServiceAccounts" + withoutGate)
		}
	default:
		return nil, errors.New("provider: aws, azure, gcp or generic")
	}
	if err := complete(data["address"]); err != nil {
		return nil, err
	}
	return w, nil
}

const withoutGate = ", which need the feature gate ObjectLevelWorkloadIdentity"

// generic sets the address of a cluster that trusts tokens of ServiceAccounts.
func (w *Workload) generic(address string) (err error) {
	w.Resource = ""
	if w.ServiceAccount.Name == "" {
		// The author of the ConfigMap chooses the address that would receive the token.
		return errors.New("serviceAccountName is missing: a token of the controller is not sent to other clusters")
	}
	if w.Address, err = canonical(address); err != nil {
		return err
	}
	if len(w.Audiences) == 0 {
		w.Audiences = []string{address}
	}
	return nil
}

// canonical returns the address of an API server with scheme and port, without path and query.
func canonical(address string) (string, error) {
	if address != "" && !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("address is not an https URL of an API server")
	}
	host := strings.ToLower(u.Host)
	if u.Port() == "" {
		host += ":443"
	}
	return "https://" + host, nil
}

func (w *Workload) config() *rest.Config {
	return &rest.Config{Host: w.Address, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(w.CA)}, Timeout: remoteTimeout}
}

// digest returns a digest that differs from that of any kubeconfig.
func (w *Workload) digest() digest {
	// Marshalling strings cannot fail.
	raw, _ := json.Marshal(w)
	return sha256.Sum256(append([]byte("workload\x00"), raw...))
}

// tokenSource authenticates requests with tokens that it fetches when they are needed and caches.
type tokenSource struct {
	fetch func(ctx context.Context) (string, time.Time, error)
	now   func() time.Time

	// fetching holds a value during a fetch, so that concurrent requests cause one.
	fetching chan struct{}

	// blocked returns why requests must not fetch a token; nil, or a nil result, if they may.
	blocked func() error
	// maxAge bounds how long a token is used; negative for no bound.
	maxAge time.Duration
	// counts counts the requests that need a token.
	counts *tokenCounts

	mu    sync.Mutex
	token string
	// renewAt is when the token has to be replaced, some time before it expires.
	renewAt time.Time
}

// newTokenSource returns a token source without its fetch.
func newTokenSource(o Options, counts *tokenCounts) *tokenSource {
	s := &tokenSource{now: o.Now, counts: counts, fetching: make(chan struct{}, 1), maxAge: o.MaxTokenAge}
	switch {
	case o.NoTokenCache:
		s.maxAge = 0
	case o.MaxTokenAge == 0:
		s.maxAge = -1
	}
	return s
}

// fetcher returns a function that requests tokens for a workload.
func fetcher(w *Workload, requester TokenRequester) func(context.Context) (string, time.Time, error) {
	return func(ctx context.Context) (string, time.Time, error) {
		if requester == nil {
			return "", time.Time{}, errors.New("tokens of ServiceAccounts are not supported")
		}
		return requester(ctx, w.ServiceAccount, w.Audiences)
	}
}

// cached returns the cached token; empty if there is no valid one.
func (s *tokenSource) cached() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.now().Before(s.renewAt) {
		return s.token
	}
	return ""
}

// current returns the cached token, or else fetches one unless that is blocked.
func (s *tokenSource) current(ctx context.Context) (string, error) {
	if token := s.cached(); token != "" {
		return token, nil
	}
	if s.blocked != nil {
		if err := s.blocked(); err != nil {
			return "", err
		}
	}
	return s.refresh(ctx)
}

// refresh is like current, but fetches even if that is blocked.
func (s *tokenSource) refresh(ctx context.Context) (string, error) {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token := s.cached(); token != "" {
		return token, nil
	}
	began := s.now()
	token, expires, err := s.fetch(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lifetime := expires.Sub(began) * 4 / 5
	if s.maxAge >= 0 {
		lifetime = min(lifetime, s.maxAge)
	}
	s.token, s.renewAt = token, began.Add(lifetime)
	return token, nil
}

// invalidate drops a token that the server rejected before it expired.
func (s *tokenSource) invalidate(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
}

// wrap returns a transport that adds tokens to requests.
func (s *tokenSource) wrap(next http.RoundTripper) http.RoundTripper {
	return &authenticated{tokens: s, next: next}
}

type authenticated struct {
	tokens *tokenSource
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (a *authenticated) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a *authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := a.tokens.current(req.Context())
	a.tokens.counts.count(err)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("no token for the cluster: %w", err)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		a.tokens.invalidate(token)
	}
	return resp, err
}
