// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// apiClient is the little of the Kubernetes API that starting a cluster needs.
// client-go would make the launcher's build a matter of minutes.
type apiClient struct {
	http   *http.Client
	server string
}

func newAPIClient(r request) (*apiClient, error) {
	pair, err := tls.LoadX509KeyPair(r.pki("admin.crt"), r.pki("admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(r.pki("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's CA is not a certificate")
	}
	return &apiClient{server: r.server(), http: &http.Client{
		Timeout: 15 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		},
	}}, nil
}

func (c *apiClient) get(ctx context.Context, path string, into any) error {
	body, err := c.call(ctx, http.MethodGet, path, "", nil)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// create accepts an object that is there already: a call that timed out may
// have been carried out all the same.
func (c *apiClient) create(ctx context.Context, path, contentType string, body []byte) error {
	_, err := c.call(ctx, http.MethodPost, path, contentType, body)
	var status statusError
	if errors.As(err, &status) && status.code == http.StatusConflict {
		return nil
	}
	return err
}

type statusError struct {
	what string
	code int
	body []byte
}

func (e statusError) Error() string {
	return fmt.Sprintf("%s: status %d: %s", e.what, e.code, e.body[:min(len(e.body), 500)])
}

func (c *apiClient) call(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return do(c.http, req)
}

func do(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, statusError{what: req.Method + " " + req.URL.Path, code: resp.StatusCode, body: data}
	}
	return data, nil
}

// healthy checks the health endpoint of a component that serves plain HTTP on the loopback
// interface.
func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	_, err = do(client, req)
	return err
}
