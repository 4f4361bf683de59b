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

// Workload leads to a cluster for which credentials are made when they are needed, and
// stored nowhere: one that trusts the tokens of this one, or one of a cloud.
type Workload struct {
	// Cloud is aws, azure or gcp; empty for a cluster that trusts the tokens of this one.
	Cloud string
	// Resource is the name that a cloud has for the cluster; empty if it is not needed.
	Resource string
	// Address is the URL of the API server, and CA verifies it, in PEM. Where a cloud is
	// to be asked for them they are empty; elsewhere, an empty CA means the authorities of
	// the system.
	Address string
	CA      string
	// Audiences are whom tokens are for; empty for whom a cloud wants.
	Audiences []string
	// ServiceAccount is whose tokens they are, in the controller's own cluster. For a cloud
	// it may have no name: then the controller is known there itself.
	ServiceAccount types.NamespacedName
	// Annotations of the ServiceAccount say who that is in a cloud; nil elsewhere. Whoever
	// reads a ConfigMap adds them.
	Annotations map[string]string
}

// TokenRequester returns a token of a ServiceAccount, and when it expires. It is called
// concurrently.
type TokenRequester func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// WorkloadOptions are what the controller's administrator lets ConfigMaps say.
type WorkloadOptions struct {
	// DefaultServiceAccount is the name of whose tokens they are where the data name nobody; empty for
	// nobody.
	DefaultServiceAccount string
	// AllowServiceAccounts allows tokens of ServiceAccounts.
	AllowServiceAccounts bool
}

// ParseWorkload reads a ConfigMap's data. A ServiceAccount is of the given namespace.
// Errors begin with the key.
func ParseWorkload(data map[string]string, namespace string, terms WorkloadOptions) (*Workload, error) {
	w := &Workload{CA: data["ca.crt"], Resource: data["cluster"]}
	name := data["serviceAccountName"]
	if name == "" {
		name = terms.DefaultServiceAccount
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
		if !terms.AllowServiceAccounts {
			return nil, errors.New("provider generic is for tokens of ServiceAccounts" + withoutGate)
		}
	case "aws", "azure", "gcp":
		w.Cloud, complete = provider, w.cloud
		if name != "" && !terms.AllowServiceAccounts {
			return nil, errors.New("serviceAccountName asks for tokens of ServiceAccounts" + withoutGate)
		}
	default:
		return nil, errors.New("provider: aws, azure, gcp or generic")
	}
	if err := complete(data["address"]); err != nil {
		return nil, err
	}
	return w, nil
}

const withoutGate = ", which the controller does not ask for without the feature gate ObjectLevelWorkloadIdentity"

// generic takes the address of a cluster that trusts the tokens of this one.
func (w *Workload) generic(address string) (err error) {
	w.Resource = ""
	if w.ServiceAccount.Name == "" {
		// It would be for whoever wrote the address, and for what he says it is.
		return errors.New("serviceAccountName is missing: tokens of the controller itself are not handed out")
	}
	if w.Address, err = canonical(address); err != nil {
		return err
	}
	if len(w.Audiences) == 0 {
		w.Audiences = []string{address}
	}
	return nil
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

	// barred says why nobody is to be asked; nil if nobody says so.
	barred func() error
	// keep bounds how long a token is used; negative does not.
	keep time.Duration
	// counts takes note of what becomes of those who ask.
	counts *tokenCounts

	mu    sync.Mutex
	token string
	// renew is when the token is to be replaced, some time before it expires.
	renew time.Time
}

func newBearer(w *Workload, tokens TokenRequester, keep time.Duration, now func() time.Time, counts *tokenCounts) *bearer {
	return &bearer{
		keep: keep, counts: counts,
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
	if b.barred != nil {
		if err := b.barred(); err != nil {
			return "", err
		}
	}
	return b.renewed(ctx)
}

// renewed is current, whatever bars others.
func (b *bearer) renewed(ctx context.Context) (string, error) {
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
	life := expires.Sub(asked) * 4 / 5
	if b.keep >= 0 {
		life = min(life, b.keep)
	}
	b.token, b.renew = token, asked.Add(life)
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
	a.bearer.counts.count(err)
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
