'use strict';
// Renders the sanitiser's outputs in every relevant context and way, and reports what a policy forbids. Takes work from
// the server (/next) and posts its findings (/report) until none is left.

// Debian 12's node-dompurify (2.4.1+dfsg+~2.4.0-2+deb12u1) reads `shadowNode.__depth` before its first node, from a
// variable that a backported patch left undeclared: without one of that name, nothing is sanitised at all.
var shadowNode = {};

const page = document;
const together = 64;           // outputs per frame
const loadLimit = 20000;       // ms
const findingsKept = 2000;     // per batch, in full

// Every output is put into an element of the context, followed by another element: both must still be there afterwards.
const end = '<i data-vector></i>';
const contexts = {
  div: {open: '<div data-vector>', close: `</div>${end}`},
  td: {open: '<table><tbody><tr><td data-vector>', close: `</td></tr></tbody></table>${end}`},
  template: {open: '<template data-vector>', close: `</template>${end}`},
};
const isMarker = node => typeOf(node) === 1 && attributesOf(node).getNamedItem('data-vector') !== null;

// Reports everything that runs in a window: functions that payloads call, errors, and every script that the page's
// report-only policy would have blocked.
function watch(win, doc, find) {
  const ran = what => () => { find('execution', what); return null; };
  for (const name of ['alert', 'confirm', 'prompt', 'print', 'open']) win[name] = ran(name);
  win.addEventListener('error', event => { if (event instanceof win.ErrorEvent) find('execution', event.message); });
  win.addEventListener('unhandledrejection', ran('rejection'));
  win.addEventListener('securitypolicyviolation', event => find('execution', `${event.effectiveDirective} reported`));
}

for (const name of ['alert', 'confirm', 'prompt', 'print', 'open'])
  window[name] = () => { topFinding('execution', `top.${name}`); return null; };
let topFinding = () => {};

const create = (doc, name) => Document.prototype.createElement.call(doc, name);
const setHtml = (node, text) => Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML').set.call(node, text);
const getHtml = node => Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML').get.call(node);

function hostFor(doc, body, context) {
  if (context !== 'td') {
    const host = create(doc, context);
    body.append(host);
    return host;
  }
  let host = body;
  for (const name of ['table', 'tbody', 'tr', 'td']) {
    const inner = create(doc, name);
    host.append(inner);
    host = inner;
  }
  return host;
}

// Renders in a frame, as a real page with scripting on: the outputs as parsed, set by innerHTML, serialised by the
// browser and parsed again, and, for templates, cloned into the page, where their scripts would run.
async function render(items, policy, context) {
  const findings = [];
  const find = (kind, detail) => findings.push({kind, detail});
  topFinding = find;
  const frame = page.createElement('iframe');
  page.body.append(frame);
  const win = frame.contentWindow;
  const doc = win.document;
  doc.open();
  watch(win, doc, find);
  const write = text => Document.prototype.write.call(doc, text);
  const loaded = new Promise(resolve => win.addEventListener('load', () => resolve(true), {once: true}));
  write('<!DOCTYPE html><html><head></head><body><div></div>');
  const root = doc.documentElement;
  const body = doc.body;
  const {open, close} = contexts[context];
  for (const item of items) write(open + item.html + close);
  const markers = [];
  walk(root, node => { if (isMarker(node)) markers.push(node); });
  if (markers.length !== 2 * items.length) find('markers', `${markers.length} of ${2 * items.length}`);
  const insert = (host, fragment) => host.append(Document.prototype.importNode.call(doc, fragment, true));
  const clones = create(doc, 'div');
  body.append(clones);
  if (context === 'template') {
    for (const node of markers) if (node instanceof win.HTMLTemplateElement) insert(clones, contentOf(node));
  }
  const hosts = [];
  for (const item of items) {
    let text = item.html;
    for (let round = 0; round < 2; ++round) {
      const host = hostFor(doc, body, context);
      setHtml(host, text);
      if (context === 'template') insert(clones, contentOf(host));
      text = getHtml(host);
      hosts.push(host);
    }
  }
  doc.close();
  const timeout = new Promise(resolve => setTimeout(resolve, loadLimit, false));
  if (!(await Promise.race([loaded, timeout]))) find('unfinished', 'the page did not load');
  await new Promise(resolve => setTimeout(resolve, 0));
  const ours = new Set([...markers, ...hosts]);
  walk(root, node => {
    if (ours.has(node) || (typeOf(node) === 1 && frameOfPage.has(localNameOf(node)) && attributesOf(node).length === 0))
      return;
    checkNode(policy, node, find);
  });
  frame.remove();
  topFinding = () => {};
  return findings;
}

// Parses with scripting off, where noscript has child elements.
function parseWithoutScripting(item, policy, context, find) {
  const {open, close} = contexts[context];
  const doc = new DOMParser().parseFromString(`<!DOCTYPE html><body>${open}${item.html}${close}`, 'text/html');
  let markers = 0;
  walk(doc.documentElement, node => {
    if (isMarker(node)) {
      ++markers;
    } else if (typeOf(node) !== 1 || !frameOfPage.has(localNameOf(node)) || attributesOf(node).length > 0) {
      checkNode(policy, node, find);
    }
  });
  if (markers !== 2) find('markers', `${markers} of 2`);
}

// S6: a strict XML parser reads the output, too. Policy classic keeps HTML's named references, which XML does not know.
function parseAsXml(item, find) {
  const doc = new DOMParser().parseFromString(`<div xmlns="${html}">${item.html}</div>`, 'application/xhtml+xml');
  const error = doc.getElementsByTagName('parsererror')[0];
  if (error !== undefined) find('grammar', error.textContent.slice(0, 200));
}

// Strict: DOMPurify's defaults. Classic: with feedparser's lists added. SAFE_FOR_XML (3.x) is for output that is later
// parsed as XML: it removes attributes with "-->" in their value.
const purifySettings = {
  strict: {SAFE_FOR_XML: false},
  classic: {
    SAFE_FOR_XML: false,
    SANITIZE_DOM: false,  // feedparser keeps ids and names
    ADD_TAGS: [...policies.classic.elements],
    ADD_ATTR: [...policies.classic.everywhere],
    ADD_URI_SAFE_ATTR: [...policies.classic.everywhere].filter(name => !policies.classic.urls.has(name)),
    ALLOWED_URI_REGEXP:
        new RegExp(`^(?:(?:${[...policies.classic.schemes].join('|').replaceAll('+', '\\+')}):|[^a-z]|[a-z+.\\-]+(?:[^a-z+.\\-:]|$))`, 'i'),
  },
};

function purify(item, find) {
  // Some versions remove every attribute with "/>" in it, for the sake of an old jQuery; our output has it in escaped
  // text only. Debian's 2.x has no option to stop that.
  // DOMPurify never keeps comments, and removes an element with both a text and a comment that look like tags; render()
  // checks where comments end and what they do to their surroundings.
  const withoutComments = item.policy === 'classic' ? item.html.replace(/<!--[^]*?-->/g, '') : item.html;
  const whole = `<div>${withoutComments.replaceAll('/&gt;', '/ &gt;')}</div>`;
  const before = new DOMParser().parseFromString(whole, 'text/html').body;
  const after = page.createElement('body');
  after.append(DOMPurify.sanitize(whole, {...purifySettings[item.policy], RETURN_DOM_FRAGMENT: true}));
  for (const removed of DOMPurify.removed) {
    const {attribute, element} = removed;
    find('purify', attribute ? `attribute ${attribute.name}="${attribute.value}"` : `node ${element?.nodeName}`);
  }
  if (canonical(before) !== canonical(after)) find('purify', 'the tree is another one');
}

// Renders outputs together and, on any finding, their halves, until the culprit is known.
async function renderAndBlame(items, policy, context, blame) {
  const findings = await render(items, policy, context);
  if (findings.length === 0) return 0;
  let found = 0;
  if (items.length > 1) {
    const half = items.length >> 1;
    for (const some of [items.slice(0, half), items.slice(half)])
      found += await renderAndBlame(some, policy, context, blame);
  }
  // A single output, or a finding seen only in company: blame the first rather than lose it.
  if (found === 0) for (const finding of findings) blame(items[0], finding);
  return findings.length;
}

async function check(items, policyName, reports, counts) {
  const policy = policies[policyName];
  for (const context of Object.keys(contexts)) {
    const finder = item => (kind, detail) => reports.push({id: item.id, policy: policyName, context, kind, detail});
    for (const item of items) parseWithoutScripting(item, policy, context, finder(item));
    for (let from = 0; from < items.length; from += together) {
      const some = items.slice(from, from + together);
      await renderAndBlame(some, policy, context, (item, finding) => finder(item)(finding.kind, finding.detail));
      counts.rendered += some.length;
    }
  }
  for (const item of items) {
    const find = (kind, detail) => reports.push({id: item.id, policy: policyName, context: '', kind, detail});
    if (policyName === 'strict') parseAsXml(item, find);
    purify(item, find);
  }
}

async function main() {
  for (;;) {
    const {items} = await (await fetch('/next')).json();
    if (items.length === 0) return;
    const reports = [];
    const counts = {rendered: 0};
    for (const name of Object.keys(policies)) await check(items.filter(item => item.policy === name), name, reports, counts);
    const kinds = {};
    for (const {kind} of reports) kinds[kind] = (kinds[kind] ?? 0) + 1;
    await fetch('/report', {method: 'POST', body: JSON.stringify({
      outputs: items.length, rendered: counts.rendered, kinds, findings: reports.slice(0, findingsKept)})});
  }
}

main().catch(error => fetch('/report', {method: 'POST', body: JSON.stringify({failed: String(error.stack)})}));
