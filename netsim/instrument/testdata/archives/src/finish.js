export const finish = (element, {color}) => void Object.assign(element.style, {background: color});
