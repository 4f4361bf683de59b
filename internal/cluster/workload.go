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

// Workload leads to a cluster that trusts the tokens of this one: as a ServiceAccount,
// by short-lived tokens that nobody stores.
type Workload struct {
	// Address is the URL of the API server.
	Address string
	// CA verifies it, in PEM; empty for the authorities of the system.
	CA string
	// Audiences are whom tokens are for.
	Audiences []string
	// ServiceAccount is whose tokens they are, in the controller's own cluster.
	ServiceAccount types.NamespacedName
}

// Tokens returns a token of a ServiceAccount, and when it expires. It is called
// concurrently.
type Tokens func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// ParseWorkload reads a ConfigMap's data. A ServiceAccount is of the given namespace,
// and has the given name if the data name none.
func ParseWorkload(data map[string]string, namespace, account string) (*Workload, error) {
	switch provider := data["provider"]; provider {
	case "generic":
	case "aws", "azure", "gcp":
		return nil, fmt.Errorf("provider %s is not supported by this version, only generic", provider)
	default:
		return nil, errors.New("provider: aws, azure, gcp or generic, of which only generic is supported by this version")
	}
	w := &Workload{CA: data["ca.crt"], ServiceAccount: types.NamespacedName{Namespace: namespace, Name: account}}
	if name := data["serviceAccountName"]; name != "" {
		w.ServiceAccount.Name = name
	}
	if w.ServiceAccount.Name == "" {
		// It would be for whoever wrote the address, and for what he says it is.
		return nil, errors.New("serviceAccountName is missing: tokens of the controller itself are not handed out")
	}
	var err error
	if w.Address, err = canonical(data["address"]); err != nil {
		return nil, err
	}
	for audience := range strings.Lines(data["audiences"]) {
		if audience = strings.TrimSpace(audience); audience != "" {
			w.Audiences = append(w.Audiences, audience)
		}
	}
	if len(w.Audiences) == 0 {
		w.Audiences = []string{data["address"]}
	}
	return w, nil
}

// canonical returns the address of an API server with scheme and port, and without
// anything else.
func canonical(address string) (string, error) {
	if address != "" && !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("address is no https URL of an API server")
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

// digest differs from that of any kubeconfig.
func (w *Workload) digest() digest {
	// Texts can become JSON.
	raw, _ := json.Marshal(w)
	return sha256.Sum256(append([]byte("workload\x00"), raw...))
}

// bearer authenticates requests with tokens that are fetched when they are needed.
type bearer struct {
	fetch func(ctx context.Context) (string, time.Time, error)
	now   func() time.Time

	// fetching is held while a token is asked for, so that it is asked for once.
	fetching chan struct{}

	mu    sync.Mutex
	token string
	// renew is when the token is to be replaced, some time before it expires.
	renew time.Time
}

func newBearer(w *Workload, tokens Tokens, now func() time.Time) *bearer {
	return &bearer{
		fetch: func(ctx context.Context) (string, time.Time, error) {
			if tokens == nil {
				return "", time.Time{}, errors.New("nobody hands out tokens")
			}
			return tokens(ctx, w.ServiceAccount, w.Audiences)
		},
		now: now, fetching: make(chan struct{}, 1),
	}
}

func (b *bearer) held() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.token != "" && b.now().Before(b.renew) {
		return b.token
	}
	return ""
}

// current returns a token that holds for a while.
func (b *bearer) current(ctx context.Context) (string, error) {
	if token := b.held(); token != "" {
		return token, nil
	}
	select {
	case b.fetching <- struct{}{}:
		defer func() { <-b.fetching }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token := b.held(); token != "" {
		return token, nil
	}
	asked := b.now()
	token, expires, err := b.fetch(ctx)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.token, b.renew = token, asked.Add(expires.Sub(asked)*4/5)
	return token, nil
}

// refused forgets a token that does not hold any more, whatever it says itself.
func (b *bearer) refused(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.token == token {
		b.token = ""
	}
}

// wrap adds tokens to requests.
func (b *bearer) wrap(next http.RoundTripper) http.RoundTripper {
	return &authenticated{bearer: b, next: next}
}

type authenticated struct {
	bearer *bearer
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that holds connections.
func (a *authenticated) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a *authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := a.bearer.current(req.Context())
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
		a.bearer.refused(token)
	}
	return resp, err
}
