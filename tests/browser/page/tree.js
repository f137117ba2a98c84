'use strict';
// Looks at DOM trees: what in them is not on the policy's lists. The trees are hostile: a form whose control is named
// "attributes" answers form.attributes with that control. So members are read through the prototypes only.

const getter = (prototype, name) => {
  const get = Object.getOwnPropertyDescriptor(prototype, name).get;
  return node => get.call(node);
};
const attributesOf = getter(Element.prototype, 'attributes');
const localNameOf = getter(Element.prototype, 'localName');
const namespaceOf = getter(Element.prototype, 'namespaceURI');
const typeOf = getter(Node.prototype, 'nodeType');
const childrenOf = getter(Node.prototype, 'childNodes');
const contentOf = getter(HTMLTemplateElement.prototype, 'content');

const html = 'http://www.w3.org/1999/xhtml';
const frameOfPage = new Set(['html', 'head', 'body']);

// Calls `visit` for every node below `root`, in document order, the content of templates included.
function walk(root, visit) {
  const waiting = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    visit(node);
    const isTemplate = typeOf(node) === 1 && namespaceOf(node) === html && localNameOf(node) === 'template';
    const children = childrenOf(isTemplate ? contentOf(node) : node);
    for (let i = children.length - 1; i >= 0; --i) waiting.push(children[i]);
  }
}

function urlFlaw(element, name, value) {
  let url = null;
  try {
    url = new URL(value);
  } catch {
    return `no absolute URL: ${value}`;
  }
  const scheme = url.protocol.slice(0, -1);
  const allowed = element === 'a' && name === 'href' ? policy.linkSchemes : policy.schemes;
  if (!allowed.has(scheme)) return `scheme ${scheme}: ${value}`;
  if (url.username !== '' || url.password !== '') return `credentials: ${value}`;
  return '';
}

// HTML §srcset: candidates are separated by commas, URL and descriptor by white space.
function srcsetFlaw(value) {
  for (const candidate of value.split(/,\s+/)) {
    const url = candidate.trim().split(/\s+/)[0];
    const flaw = urlFlaw('img', 'srcset', url);
    if (flaw !== '') return flaw;
  }
  return '';
}

// Says through `find(kind, detail)` what at this node is not on the policy's lists.
function checkNode(node, find) {
  const type = typeOf(node);
  if (type === 3) return;
  if (type !== 1) {
    if (type !== 11) find('node', `type ${type}`);
    return;
  }
  const name = localNameOf(node);
  if (namespaceOf(node) !== html || !policy.elements.has(name)) find('element', name);
  const own = policy.own[name] === undefined ? new Set() : words(policy.own[name]);
  for (const attribute of attributesOf(node)) {
    if (attribute.namespaceURI !== null || !(policy.everywhere.has(attribute.name) || own.has(attribute.name))) {
      find('attribute', `${name} ${attribute.name}`);
      continue;
    }
    const value = attribute.value;
    const flaw = policy.urls.has(attribute.name) ? urlFlaw(name, attribute.name, value)
        : attribute.name === 'srcset'            ? srcsetFlaw(value)
                                                 : '';
    if (flaw !== '') find('url', `${name} ${attribute.name}: ${flaw}`);
  }
}

// A tree as text, in which only what parsing and writing again may change has been made equal: the order of attributes
// and the white space around their values.
function canonical(root) {
  const out = [];
  walk(root, node => {
    const type = typeOf(node);
    if (type === 3 || type === 8) out.push(type, node.data);
    if (type !== 1) return;
    out.push('<', localNameOf(node), childrenOf(node).length);
    for (const text of [...attributesOf(node)].map(a => `${a.name}=${a.value.trim()}`).sort()) out.push(text);
  });
  return out.join('\n');
}
